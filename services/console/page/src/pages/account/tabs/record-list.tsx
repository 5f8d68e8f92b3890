import type { ComponentChildren } from "preact";

import type { ListQuery } from "../../../api/account-lists.ts";
import { credits as whole } from "../../../format.ts";
import { CursorPager } from "../../../parts/cursor-pager.tsx";
import { DownloadButton } from "../../../parts/download-button.tsx";
import { Field } from "../../../parts/field.tsx";
import { ALL, SelectField } from "../../../parts/select-field.tsx";
import { Empty, Loaded } from "../../../parts/notice.tsx";
import { TimeRange, useTimeRange } from "../../../parts/time-range.tsx";
import { type UrlState, useUrlState } from "../../../parts/url-state.ts";
import { useData } from "../../../parts/use-data.ts";

const RECORDS_A_PAGE = 50;

/** A filter of a list, by the name of its field in the API and in the address. */
export interface RecordFilter {
  readonly field: string;
  readonly label: string;
  /**
   * The values to choose from, each with its name. Absent: the filter takes any text. Null: the
   * filter is set by a link only, and a button removes it.
   */
  readonly options?: readonly (readonly [value: string, name: string])[] | null;
  /** The value until a person chooses one. A filter with an initial value has no choice "All". */
  readonly initial?: string;
}

/** A page of a list. */
export interface RecordPage<Row> {
  readonly rows: readonly Row[];
  /** Null: the last page. */
  readonly nextCursor: string | null;
  /** Number of records on all pages; null: the list does not count them. */
  readonly total: number | null;
}

interface RecordListProps<Row> {
  /** One record, and several: "deal", "deals". */
  readonly what: readonly [one: string, many: string];
  readonly filters: readonly RecordFilter[];
  /** Whether the API includes the end `to` of a range of time; null: no filter by time. */
  readonly time: "inclusive" | "exclusive" | null;
  readonly load: (query: ListQuery, signal: AbortSignal) => Promise<RecordPage<Row>>;
  /** The rows as a table. */
  readonly children: (rows: readonly Row[]) => ComponentChildren;
  /** What an empty list without a filter means, and what to do next. */
  readonly empty: ComponentChildren;
  /** Path of the records that match, as CSV; absent: the list is not exported. */
  readonly csv?: (query: ListQuery) => string;
  /** The list is loaded again when this number changes. */
  readonly round: number;
}

/** One list about an account. Its filters, range of time and page are in the address. */
export function RecordList<Row>({ what, filters, time, load, children, empty, csv, round }: RecordListProps<Row>) {
  const state = useUrlState();
  const range = useTimeRange(state, "all", round);
  const filter: ListQuery = {
    ...Object.fromEntries(filters.map(({ field, initial = "" }) => [field, state.get(field) || initial])),
    ...(time === null ? {} : { from: range.from, to: time === "exclusive" ? range.toExclusive : range.to }),
  };
  const query = { ...filter, limit: RECORDS_A_PAGE, cursor: state.cursor ?? "" };
  const page = useData(`${round} ${JSON.stringify(query)}`, (signal) => load(query, signal));
  const isFiltered = filters.some(({ field }) => state.get(field) !== "") || (time !== null && range.name !== "all");
  const showAll = (): void =>
    state.set({ ...Object.fromEntries(filters.map(({ field }) => [field, null])), range: null, from: null, to: null });
  return (
    <>
      {filters.length === 0 && time === null ? null : (
        <form
          class="inline"
          role="search"
          aria-label={`Filter ${what[1]}`}
          onSubmit={(event) => event.preventDefault()}
        >
          {filters.map((one) => (
            <FilterControl key={one.field} filter={one} state={state} />
          ))}
          {time === null ? null : <TimeRange state={state} range={range} />}
        </form>
      )}
      <Loaded data={page} what={`the ${what[1]}`}>
        {({ rows, nextCursor, total }) => (
          <>
            {rows.length === 0 ? (
              <NoRecords {...{ what, isFiltered, showAll, empty }} isOlder={state.cursor !== null} />
            ) : (
              <>
                {total === null && csv === undefined ? null : (
                  <div class="list-head">
                    <p class="quiet" role="status">
                      {total === null ? "" : `${whole(total)} ${total === 1 ? what[0] : what[1]}`}
                    </p>
                    {csv === undefined ? null : (
                      <DownloadButton
                        label="Export CSV"
                        path={csv(filter)}
                        fileName={`${what[1].replaceAll(" ", "-")}.csv`}
                      />
                    )}
                  </div>
                )}
                {children(rows)}
              </>
            )}
            <CursorPager state={state} next={nextCursor} what={what[1]} />
          </>
        )}
      </Loaded>
    </>
  );
}

interface NoRecordsProps {
  readonly what: readonly [one: string, many: string];
  /** Whether this is not the first page: newer records exist, or existed. */
  readonly isOlder: boolean;
  readonly isFiltered: boolean;
  readonly showAll: () => void;
  readonly empty: ComponentChildren;
}

function NoRecords({ what: [one, many], isOlder, isFiltered, showAll, empty }: NoRecordsProps) {
  if (isOlder) return <Empty>There are no older {many}.</Empty>;
  if (!isFiltered) return <Empty>{empty}</Empty>;
  return (
    <Empty
      next={
        <button type="button" class="plain" onClick={showAll}>
          Remove the filters
        </button>
      }
    >
      No {one} matches. Change or remove a filter to see other {many}.
    </Empty>
  );
}

interface FilterControlProps {
  readonly filter: RecordFilter;
  readonly state: UrlState;
}

function FilterControl({ filter: { field, label, options, initial = "" }, state }: FilterControlProps) {
  const value = state.get(field);
  if (options === null) {
    if (value === "") return null;
    return (
      <button type="button" onClick={() => state.set({ [field]: null })}>
        Only {label} {value} — show all
      </button>
    );
  }
  if (options === undefined) {
    return (
      <Field label={label}>
        {(tied) => (
          <input
            {...tied}
            key={value}
            type="search"
            maxLength={100}
            autoComplete="off"
            defaultValue={value}
            onChange={({ currentTarget }) => state.set({ [field]: currentTarget.value.trim() })}
          />
        )}
      </Field>
    );
  }
  const choose = (chosen: string): void => state.set({ [field]: chosen === initial ? null : chosen });
  return (
    <SelectField
      label={label}
      value={value || initial}
      options={initial === "" ? [ALL, ...options] : options}
      choose={choose}
    />
  );
}
