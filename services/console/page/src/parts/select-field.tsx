import { Field } from "./field.tsx";

interface SelectFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | null;
  readonly value: string;
  /** Each value with its name. */
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly choose: (value: string) => void;
}

/** The option "All" of a filter, which filters nothing. */
export const ALL = ["", "All"] as const;

/** A choice of one value, with its label, hint and error. */
export function SelectField({ value, options, choose, ...field }: SelectFieldProps) {
  return (
    <Field {...field}>
      {(tied) => (
        <select {...tied} value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {options.map(([one, name]) => (
            <option key={one} value={one}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
