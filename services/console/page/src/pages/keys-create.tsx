import { useId, useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import { Failure } from "../api/failure.ts";
import type { CreatedConsoleKeyAnswer, Scope, ScopesAnswer } from "../api/shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { SelectField } from "../parts/select-field.tsx";
import { Loaded, Problem } from "../parts/notice.tsx";
import { useAction, useData } from "../parts/use-data.ts";
import { currentZone, fromLocalInput } from "../time-zone.ts";

const DAY_MS = 86_400_000;
const NAME_CHARACTERS = 100;
/** Lifetimes of a key, by the value of the option. */
const LIVES: Readonly<Record<string, { readonly title: string; readonly days: number | null }>> = {
  "90": { title: "90 days", days: 90 },
  "30": { title: "30 days", days: 30 },
  "365": { title: "1 year", days: 365 },
  never: { title: "Never", days: null },
};
const ON_A_DATE = "date";
const EXPIRIES: readonly (readonly [value: string, name: string])[] = [
  ...Object.entries(LIVES).map(([value, { title, days }]) => [value, days === null ? title : `In ${title}`] as const),
  [ON_A_DATE, "Custom date"],
];
const FIRST_LIFE = "90";

interface CreateKeyProps {
  readonly onCreated: (answer: CreatedConsoleKeyAnswer) => void;
  readonly onClose: () => void;
}

/** Dialog that creates a management key. */
export function CreateKey({ onCreated, onClose }: CreateKeyProps) {
  const api = useApi();
  const known = useData("scopes", (signal) => api.scopes(signal));
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<ReadonlySet<Scope>>(new Set());
  const [life, setLife] = useState(FIRST_LIFE);
  const [date, setDate] = useState("");
  const [networks, setNetworks] = useState("");
  const create = useAction(async () => {
    if (scopes.size === 0) throw lacking("scopes", "Choose at least one scope.");
    const expiresAt = endOf(life, date);
    onCreated(await api.createKey({ name, scopes: [...scopes], expiresAt, allowedNetworks: listOf(networks) }));
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    create.run();
  };
  return (
    <Dialog title="Create a management key" onClose={onClose} busy={create.busy}>
      <form onSubmit={submit}>
        <Field
          label="Name"
          hint="A name that helps you recognize this key later"
          error={create.failure?.of("name") ?? null}
        >
          {(tied) => (
            <input
              {...tied}
              type="text"
              required
              maxLength={NAME_CHARACTERS}
              autoComplete="off"
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          )}
        </Field>
        <Loaded data={known} what="the scopes">
          {(answer) => (
            <ScopeChoice
              offered={answer.scopes}
              chosen={scopes}
              choose={setScopes}
              error={create.failure?.of("scopes") ?? null}
            />
          )}
        </Loaded>
        <SelectField
          label="Expires"
          error={create.failure?.of("expiresAt") ?? null}
          value={life}
          options={EXPIRIES}
          choose={setLife}
        />
        {life === ON_A_DATE ? (
          <Field label={`Expiration date (${currentZone()})`}>
            {(tied) => (
              <input
                {...tied}
                type="datetime-local"
                required
                value={date}
                onInput={({ currentTarget }) => setDate(currentTarget.value)}
              />
            )}
          </Field>
        ) : null}
        <Field
          label="Allowed networks"
          hint="Optional: addresses or networks of your backend, such as 203.0.113.0/24. Requests from other addresses fail as if the key were unknown."
          error={create.failure?.of("allowedNetworks") ?? null}
        >
          {(tied) => (
            <textarea
              {...tied}
              rows={2}
              spellcheck={false}
              value={networks}
              onInput={({ currentTarget }) => setNetworks(currentTarget.value)}
            />
          )}
        </Field>
        <Problem failure={create.failure} fields={["name", "scopes", "expiresAt", "allowedNetworks"]} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={create.busy}>
            {create.busy ? "Creating…" : "Create key"}
          </button>
          <button type="button" disabled={create.busy} onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The parts of a text between spaces, commas and line ends; null if there are none. */
function listOf(text: string): string[] | null {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  return parts.length === 0 ? null : parts;
}

/**
 * When a key that is created now expires, in UTC; null: never. `date` is the custom date, in local
 * time of the chosen zone.
 * @throws Failure if the custom date is chosen and `date` is incomplete.
 */
export function endOf(life: string, date: string): string | null {
  if (life === ON_A_DATE) {
    const atMs = fromLocalInput(currentZone(), date);
    if (atMs === null) throw lacking("expiresAt", "Enter the date and the time.");
    return new Date(atMs).toISOString();
  }
  const days = LIVES[life]?.days ?? null;
  return days === null ? null : new Date(Date.now() + days * DAY_MS).toISOString();
}

function lacking(field: string, message: string): Failure {
  return new Failure(message, null, { issues: [{ path: [field], code: "custom", message }] });
}

interface ScopeChoiceProps {
  readonly offered: ScopesAnswer["scopes"];
  readonly chosen: ReadonlySet<Scope>;
  readonly choose: (scopes: ReadonlySet<Scope>) => void;
  readonly error: string | null;
}

function ScopeChoice({ offered, chosen, choose, error }: ScopeChoiceProps) {
  const id = useId();
  const toggle = (scope: Scope): void => {
    const next = new Set(chosen);
    if (!next.delete(scope)) next.add(scope);
    choose(next);
  };
  return (
    <fieldset aria-describedby={error === null ? undefined : id}>
      <legend>Scopes</legend>
      {offered.map(({ scope, description }) => (
        <label key={scope} class="check">
          <input type="checkbox" checked={chosen.has(scope)} onChange={() => toggle(scope)} />
          <code>{scope}</code>
          <span class="hint">{description}</span>
        </label>
      ))}
      {error === null ? null : (
        <p class="error" id={id} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
