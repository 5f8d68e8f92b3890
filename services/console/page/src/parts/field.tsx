import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** Attributes that connect a control with its label, hint and error. */
export interface Tied {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | null;
  readonly children: (tied: Tied) => ComponentChildren;
}

/**
 * A control with its label, hint and error. `children` renders the control with the given
 * attributes.
 */
export function Field({ label, hint, error = null, children }: FieldProps) {
  const id = useId();
  const described = [hint === undefined ? null : `${id}-hint`, error === null ? null : `${id}-error`];
  const tied: Tied = {
    id,
    "aria-describedby": described.filter((name) => name !== null).join(" ") || undefined,
    "aria-invalid": error !== null,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {children(tied)}
      {error === null ? null : (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}
