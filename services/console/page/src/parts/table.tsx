import type { ComponentChildren } from "preact";

/** One column of a table. */
export interface Column<Row> {
  readonly head: string;
  /** Whether the head is only for screen readers, for example above buttons. */
  readonly hiddenHead?: boolean;
  readonly numeric?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  /** Caption for screen readers only. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

/**
 * A table whose first column names the row. On a narrow screen each row becomes a card. Explicit
 * roles keep the table a table for screen readers.
 */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <div class="wide">
      <table role="table" class="list">
        <caption class="hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, numeric, hiddenHead }) => (
              <th key={head} role="columnheader" scope="col" class={numeric === true ? "number" : undefined}>
                <span class={hiddenHead === true ? "hidden" : undefined}>{head}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row">
              {columns.map((column, index) => (
                <Cell key={column.head} column={column} row={row} first={index === 0} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface CellProps<Row> {
  readonly column: Column<Row>;
  readonly row: Row;
  readonly first: boolean;
}

function Cell<Row>({ column, row, first }: CellProps<Row>) {
  const { head, hiddenHead, numeric, cell } = column;
  const content = (
    <>
      {hiddenHead === true ? null : (
        <span class="cell-head" aria-hidden="true">
          {head}
        </span>
      )}
      <span class="cell">{cell(row)}</span>
    </>
  );
  const look = numeric === true ? "number" : undefined;
  return first ? (
    <th role="rowheader" scope="row" class={look}>
      {content}
    </th>
  ) : (
    <td role="cell" class={look}>
      {content}
    </td>
  );
}
