/** The filters of the list of accounts, and their fields in the address. */
import { useState } from "preact/hooks";

import type { AccountStatus } from "../api/shapes.ts";
import { Field } from "../parts/field.tsx";
import { ALL, SelectField } from "../parts/select-field.tsx";
import { TimeRange, type useTimeRange } from "../parts/time-range.tsx";
import type { UrlState } from "../parts/url-state.ts";

const SEARCH_CHARACTERS = 100;
/** Every state, with its name in the filter. */
const STATES: Readonly<Record<AccountStatus, string>> = {
  active: "Active",
  pending: "Pending",
  close_only: "Close only",
  disabled: "Disabled",
  archived: "Archived",
  failed: "Failed",
  deleting: "Deleting",
};
/** States whose accounts have no stored values. */
const WITHOUT_VALUES: ReadonlySet<string> = new Set<AccountStatus>(["pending", "failed", "deleting"]);

/** Filters by value: the name of the query's field, and the label. */
const VALUES = [
  ["equityMin", "Equity from"],
  ["equityMax", "Equity to"],
  ["balanceMin", "Balance from"],
  ["balanceMax", "Balance to"],
  ["dailyDrawdownMin", "Daily drawdown from, %"],
  ["totalDrawdownMin", "Total drawdown from, %"],
  ["marginLevelMax", "Margin level to, %"],
] as const;
const FIELDS = ["status", "search", ...VALUES.map(([field]) => field)];
/** The changes of the address that remove every filter. */
const CLEARED = Object.fromEntries([...FIELDS, "range", "from", "to"].map((field) => [field, null]));

/** The filters in the address, by their names in the API; filters without a value are left out. */
export function filtersIn(state: UrlState, created: { from: string; toExclusive: string }): Record<string, string> {
  const given = FIELDS.map((field) => [field, state.get(field)] as const);
  const all = [...given, ["createdFrom", created.from] as const, ["createdTo", created.toExclusive] as const];
  return Object.fromEntries(all.filter(([, value]) => value !== ""));
}

/** Removes every filter. */
export function clearFilters(state: UrlState): void {
  state.set(CLEARED);
}

interface FilterProps {
  readonly state: UrlState;
  readonly created: ReturnType<typeof useTimeRange>;
  readonly reload: () => void;
}

/** The form of the filters. “Search” applies entered texts; a choice applies at once. */
export function AccountsFilter({ state, created, reload }: FilterProps) {
  const [open, setOpen] = useState(VALUES.some(([field]) => state.get(field) !== "") || created.name !== "all");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (field: string): string => {
      const value = form.get(field);
      return typeof value === "string" ? value.trim() : "";
    };
    const values = open ? VALUES.map(([field]) => [field, text(field)] as const) : [];
    state.set({ search: text("search"), ...Object.fromEntries(values) });
  };
  const chooseState = (status: string): void => {
    // A list of accounts without stored values can be searched, but is always newest first, and has
    // no filter by values or by time of creation.
    const others = WITHOUT_VALUES.has(status) ? { ...CLEARED, sort: null, search: state.get("search") } : {};
    state.set({ ...others, status });
  };
  return (
    <form class="inline" role="search" aria-label="Accounts" onSubmit={submit} key={state.get("search")}>
      <Field label="Number or name">
        {(tied) => (
          <input
            {...tied}
            name="search"
            type="search"
            maxLength={SEARCH_CHARACTERS}
            defaultValue={state.get("search")}
          />
        )}
      </Field>
      <SelectField
        label="State"
        value={state.get("status")}
        options={[ALL, ...Object.entries(STATES)]}
        choose={chooseState}
      />
      <button type="submit">Search</button>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Fewer filters" : "More filters"}
      </button>
      <button type="button" onClick={reload}>
        Refresh
      </button>
      {open ? (
        <div class="inline more-filters">
          {VALUES.map(([field, label]) => (
            <Field key={field} label={label}>
              {(tied) => (
                <input
                  {...tied}
                  name={field}
                  inputMode="decimal"
                  pattern="-?[0-9]{1,13}([.][0-9]{1,4})?"
                  title="A number, such as 1000 or 4.5"
                  defaultValue={state.get(field)}
                />
              )}
            </Field>
          ))}
          <TimeRange state={state} range={created} label="Created" />
        </div>
      ) : null}
    </form>
  );
}
