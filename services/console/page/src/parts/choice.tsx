import { Field } from "./field.tsx";
import { filterBy } from "./filter.ts";

interface ChoiceProps {
  readonly label: string;
  /** The path and query of the list, and the query's field that is chosen. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly field: string;
  /** What can be chosen beside "All": each value with its name. */
  readonly options: readonly (readonly [value: string, name: string])[];
}

/** Chooses which part of a list is shown, by one field of its query. */
export function Choice({ label, path, query, field, options }: ChoiceProps) {
  return (
    <Field label={label}>
      {(tied) => (
        <select
          {...tied}
          value={query.get(field) ?? ""}
          onChange={({ currentTarget }) => filterBy(path, query, { [field]: currentTarget.value })}
        >
          <option value="">All</option>
          {options.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
