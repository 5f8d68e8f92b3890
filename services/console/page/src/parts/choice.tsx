import { ALL, SelectField } from "./select-field.tsx";
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

/** A choice that filters a list by one field of its query. */
export function Choice({ label, path, query, field, options }: ChoiceProps) {
  return (
    <SelectField
      label={label}
      value={query.get(field) ?? ""}
      options={[ALL, ...options]}
      choose={(value) => filterBy(path, query, { [field]: value })}
    />
  );
}
