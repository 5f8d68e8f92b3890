/** Tables and texts for people, JSON for programs. */
import { styleText } from "node:util";

import type { Surroundings } from "./surroundings.ts";

const GAP = "  ";
const ELLIPSIS = "…";
/** Tables show times to the second, so that ids fit beside them. */
const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/;

/** A column of a table: its heading, and the text of a row. */
export interface Column<T> {
  readonly heading: string;
  readonly of: (row: T) => string | number | boolean | null | undefined;
  readonly alignRight?: true;
}

type Colour = "green" | "red" | "yellow" | "dim";

/** Colours of states. Negative numbers are red. */
const COLOURS: Readonly<Record<string, Colour>> = {
  succeeded: "green",
  active: "green",
  enabled: "green",
  open: "green",
  failed: "red",
  expired: "red",
  deleted: "red",
  queued: "yellow",
  leased: "yellow",
  pending: "yellow",
  close_only: "yellow",
  disabled: "yellow",
  archived: "dim",
  closed: "dim",
};

/** Writes the results of a command, as text or as JSON. */
export class Output {
  readonly #surroundings: Surroundings;
  readonly #isJson: boolean;

  constructor(surroundings: Surroundings, isJson: boolean) {
    this.#surroundings = surroundings;
    this.#isJson = isJson;
  }

  get isJson(): boolean {
    return this.#isJson;
  }

  /** Writes one JSON document, or the text that `text` returns. */
  print(value: unknown, text: () => string): void {
    this.#surroundings.out(this.#isJson ? `${JSON.stringify(value, null, 2)}\n` : text());
  }

  /** Writes one line of JSON for each row, or a table. */
  rows<T>(rows: readonly T[], columns: readonly Column<T>[]): void {
    if (this.#isJson) for (const row of rows) this.#surroundings.out(`${JSON.stringify(row)}\n`);
    else this.#surroundings.out(this.table(rows, columns));
  }

  /** Writes one line of JSON, or a text. */
  line(value: unknown, text: string): void {
    this.#surroundings.out(this.#isJson ? `${JSON.stringify(value)}\n` : `${text}\n`);
  }

  /** Writes a remark, which is not part of the result, to standard error. */
  note(text: string): void {
    this.#surroundings.err(`${text}\n`);
  }

  /** A table. A column is as wide as its widest cell. Lines are cut at a terminal's width. */
  table<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
    if (rows.length === 0) return "None.\n";
    const cells = rows.map((row) => columns.map((column) => cellText(column.of(row)).replace(TIME, "$1 $2Z")));
    const widths = columns.map(({ heading }, index) =>
      Math.max(heading.length, ...cells.map((line) => line[index]?.length ?? 0)),
    );
    const lineOf = (line: readonly string[], paint: (text: string, padded: string) => string): string => {
      const padded = line.map((cell, index) => {
        const width = widths[index] ?? 0;
        return paint(cell, columns[index]?.alignRight === true ? cell.padStart(width) : cell.padEnd(width));
      });
      return `${this.#cut(padded.join(GAP).trimEnd())}\n`;
    };
    const heading = lineOf(
      columns.map((column) => column.heading),
      (_cell, padded) => padded,
    );
    return (
      this.#style("dim", heading) +
      cells.map((line) => lineOf(line, (cell, padded) => this.#paint(cell, padded))).join("")
    );
  }

  /** Names and values, one per line. */
  fields(values: Readonly<Record<string, string | number | boolean | null | undefined>>): string {
    const width = Math.max(...Object.keys(values).map((name) => name.length));
    return Object.entries(values)
      .map(
        ([name, value]) =>
          `${this.#style("dim", name.padEnd(width))}${GAP}${this.#paint(cellText(value), cellText(value))}\n`,
      )
      .join("");
  }

  #paint(cell: string, padded: string): string {
    const colour = COLOURS[cell] ?? (/^-\d/.test(cell) ? "red" : undefined);
    return colour === undefined ? padded : this.#style(colour, padded);
  }

  #style(colour: Colour, text: string): string {
    const { isTerminal, environment } = this.#surroundings;
    const isPlain = !isTerminal || (environment["NO_COLOR"] ?? "") !== "";
    // `isTerminal` is checked above. Node would check the terminal of this process instead.
    return isPlain ? text : styleText(colour, text, { validateStream: false });
  }

  #cut(line: string): string {
    const { isTerminal, columns } = this.#surroundings;
    if (!isTerminal) return line;
    if (line.replaceAll(ANSI, "").length <= columns) return line;
    let room = columns - ELLIPSIS.length;
    let shown = "";
    // Every second part is a colour code, which has no width.
    for (const [index, part] of line.split(COLOUR).entries()) {
      shown += index % 2 === 1 ? part : part.slice(0, room);
      if (index % 2 === 0) room = Math.max(0, room - part.length);
    }
    return `${shown}${ELLIPSIS}`;
  }
}

// eslint-disable-next-line no-control-regex
const ANSI = /\u001B\[\d+m/g;
// eslint-disable-next-line no-control-regex
const COLOUR = /(\u001B\[\d+m)/;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001F\u007F-\u009F]/g;

/** The text of a value on a terminal. */
export function cellText(value: string | number | boolean | null | undefined): string {
  // A name could contain control characters, which would change the terminal.
  return value === null || value === undefined ? "-" : String(value).replaceAll(CONTROL, "\uFFFD");
}
