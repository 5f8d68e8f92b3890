import { Field } from "./field.tsx";
import { filterBy } from "./filter.ts";

interface ChoiceProps {
  readonly label: string;
  /** The path and query of the list, and the field of the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly field: string;
  /** The options besides "All": each value with its name. */
  readonly options: readonly (readonly [value: string, name: string])[];
}

/** Filters a list by one field of its query. */
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
