/** CSV for spreadsheets: RFC 4180, with a guard against formulas in texts. */

/** A cell: a text, a number that is rendered already, or nothing. */
export type CsvCell = string | { readonly number: string } | null;

/** The start of a formula in spreadsheets. They drop a tab or carriage return before a formula. */
const FORMULA_START = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;

/**
 * One line of CSV. A text that a spreadsheet would take for a formula gets an apostrophe in front.
 * Numbers stay as they are, also negative numbers.
 */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(cellText).join(",")}\r\n`;
}

/** An amount of money in units of currency, with its two decimals; null: no amount. */
export function moneyCell(amount: number | null): CsvCell {
  return amount === null ? null : { number: amount.toFixed(2) };
}

/** A number as JavaScript writes it; null: no number. */
export function numberCell(value: number | null): CsvCell {
  return value === null ? null : { number: String(value) };
}

function cellText(cell: CsvCell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return cell.number;
  const text = FORMULA_START.test(cell) ? `'${cell}` : cell;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
