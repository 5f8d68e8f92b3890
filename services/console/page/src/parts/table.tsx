import type { ComponentChildren, RefObject } from "preact";
import { useRef } from "preact/hooks";

import type { Sort } from "./url-state.ts";
import { useOverflow } from "./use-overflow.ts";
import { type Rows, useVirtualRows } from "./virtual-rows.ts";

/** One column of a table. */
export interface Column<Row> {
  readonly head: string;
  /** Whether only screen readers get the head, for example above buttons. */
  readonly hiddenHead?: boolean;
  readonly numeric?: boolean;
  /** The field by which the column sorts; absent: the column does not sort. */
  readonly sort?: string;
  readonly cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  /** Caption for screen readers only. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The order of the rows, if columns sort. */
  readonly sort?: Sort;
  /** Called with the order that a person chose. */
  readonly onSort?: (sort: Sort) => void;
}

/**
 * A table whose first column names the row. On a narrow screen each row becomes a card. Explicit
 * roles keep the table a table for screen readers. Of more than 200 rows, only the rows near the
 * screen and the row with the focus are rendered.
 */
export function Table<Row>({ caption, columns, rows, keyOf, sort, onSort }: TableProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const virtual = useVirtualRows(body, rows.length);
  const choose = onSort ?? (() => undefined);
  const container = useRef<HTMLDivElement>(null);
  const scrolls = useOverflow(container);
  return (
    <div ref={container} class="wide" {...(scrolls ? { tabIndex: 0, role: "region", "aria-label": caption } : {})}>
      {sort === undefined ? null : <SortChoice columns={columns} sort={sort} onSort={choose} />}
      <table role="table" class="list" aria-rowcount={virtual === null ? undefined : rows.length + 1}>
        <caption class="hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row" aria-rowindex={virtual === null ? undefined : 1}>
            {columns.map((column) => (
              <Head key={column.head} column={column} sort={sort} onSort={choose} />
            ))}
          </tr>
        </thead>
        <Body {...{ body, columns, rows, keyOf, virtual }} />
      </table>
    </div>
  );
}

interface BodyProps<Row> extends Pick<TableProps<Row>, "columns" | "rows" | "keyOf"> {
  readonly body: RefObject<HTMLTableSectionElement | null>;
  /** The rendered rows; null: all. */
  readonly virtual: Rows | null;
}

function Body<Row>({ body, columns, rows, keyOf, virtual }: BodyProps<Row>) {
  const row = (of: Row, index: number) => (
    <tr
      key={keyOf(of)}
      role="row"
      aria-rowindex={virtual === null ? undefined : index + 2}
      data-index={virtual === null ? undefined : index}
    >
      {columns.map((column, index) => (
        <Cell key={column.head} column={column} row={of} first={index === 0} />
      ))}
    </tr>
  );
  return (
    <tbody ref={body} role="rowgroup">
      {virtual === null
        ? rows.map(row)
        : virtual.segments.flatMap(({ from, to, skippedPx }) => [
            skippedPx === 0 ? null : <Space key={`before ${from}`} heightPx={skippedPx} columns={columns.length} />,
            ...rows.slice(from, to).map((of, index) => row(of, from + index)),
          ])}
      {virtual === null || virtual.restPx === 0 ? null : (
        <Space key="rest" heightPx={virtual.restPx} columns={columns.length} />
      )}
    </tbody>
  );
}

/** Takes the place of rows that are not rendered. */
function Space({ heightPx, columns }: { readonly heightPx: number; readonly columns: number }) {
  return (
    <tr class="space" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${heightPx}px` }}>
        {"\u00a0"}
      </td>
    </tr>
  );
}

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort) => void;
}

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const { head, hiddenHead, numeric } = column;
  const field = sort === undefined ? undefined : column.sort;
  const isSorted = field !== undefined && sort?.field === field;
  const direction = sort?.descending === true ? "descending" : "ascending";
  return (
    <th
      role="columnheader"
      scope="col"
      class={numeric === true ? "number" : undefined}
      aria-sort={field === undefined ? undefined : isSorted ? direction : "none"}
    >
      {field === undefined ? (
        <span class={hiddenHead === true ? "hidden" : undefined}>{head}</span>
      ) : (
        <button
          type="button"
          class={`sort ${isSorted ? direction : ""}`}
          onClick={() => onSort(nextSort(field, column, sort))}
        >
          {head}
        </button>
      )}
    </th>
  );
}

/**
 * Reverses the order of a sorted column. A newly sorted column of numbers begins with the largest.
 */
function nextSort<Row>(field: string, { numeric }: Column<Row>, sort: Sort | undefined): Sort {
  return { field, descending: sort?.field === field ? !sort.descending : numeric === true };
}

interface SortChoiceProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly sort: Sort;
  readonly onSort: (sort: Sort) => void;
}

/** Chooses the order on a narrow screen, where rows are cards and the row of heads is hidden. */
function SortChoice<Row>({ columns, sort, onSort }: SortChoiceProps<Row>) {
  const { field, descending } = sort;
  return (
    <div class="sort-choice">
      <label>
        Sort by{" "}
        <select value={field} onChange={({ currentTarget }) => onSort({ field: currentTarget.value, descending })}>
          {columns.map(({ head, sort: name }) =>
            name === undefined ? null : (
              <option key={name} value={name}>
                {head}
              </option>
            ),
          )}
        </select>
      </label>
      <button type="button" onClick={() => onSort({ field, descending: !descending })}>
        {descending ? "Descending" : "Ascending"}
      </button>
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
