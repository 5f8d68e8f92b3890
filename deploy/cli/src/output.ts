/** A column of a table: its heading, and the text of a row. */
export interface Column<T> {
  readonly heading: string;
  readonly of: (row: T) => string;
}

const GAP = "  ";

/** A table whose columns are as wide as their widest heading or value; "None." without rows. */
export function table<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  if (rows.length === 0) return "None.\n";
  const lines = [
    columns.map((column) => column.heading),
    ...rows.map((row) => columns.map((column) => column.of(row))),
  ];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  return lines
    .map((line) => line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(GAP))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** Names and values, one per line. */
export function fields(values: Readonly<Record<string, string | number>>): string {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  return Object.entries(values)
    .map(([name, value]) => `${name.padEnd(width)}${GAP}${value}\n`)
    .join("");
}
