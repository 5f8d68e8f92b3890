/** One array per column, as `unnest` takes them. */
export function columnsOf<Row>(rows: readonly Row[], ...columns: readonly (keyof Row)[]): unknown[][] {
  return columns.map((column) => rows.map((row) => row[column]));
}
