import { Field } from "./field.tsx";

/** The service's limits (contracts, `UserPassword` and `SecondFactorCode`). */
const MIN_CHARACTERS = 12;
const MAX_CHARACTERS = 200;
const MAX_CODE_CHARACTERS = 40;

interface PasswordFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly error: string | null;
}

/** A new password, with the limits of its length. */
export function NewPasswordField({ label, value, onInput, error }: PasswordFieldProps) {
  return (
    <Field label={label} hint={`At least ${MIN_CHARACTERS} characters`} error={error}>
      {(tied) => (
        <input
          {...tied}
          type="password"
          autoComplete="new-password"
          required
          minLength={MIN_CHARACTERS}
          maxLength={MAX_CHARACTERS}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** The current password. */
export function CurrentPasswordField({ label, value, onInput, error }: PasswordFieldProps) {
  return (
    <Field label={label} error={error}>
      {(tied) => (
        <input
          {...tied}
          type="password"
          autoComplete="current-password"
          required
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface CodeFieldProps extends PasswordFieldProps {
  /** Whether a recovery code is accepted too. */
  readonly recovery?: boolean;
}

/** A code of an authenticator app, or a recovery code. */
export function CodeField({ label, value, onInput, error, recovery = true }: CodeFieldProps) {
  const hint = `6 digits of your authenticator app${recovery ? ", or a recovery code" : ""}`;
  return (
    <Field label={label} hint={hint} error={error}>
      {(tied) => (
        <input
          {...tied}
          type="text"
          autoComplete="one-time-code"
          autoCapitalize="off"
          spellcheck={false}
          required
          maxLength={MAX_CODE_CHARACTERS}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  );
}
