import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import { Failure } from "../api/failure.ts";
import type { ConsoleServersAnswer, WebhookEndpoint, WebhookKind, WebhookSettings } from "../api/shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Loaded, Problem } from "../parts/notice.tsx";
import { ServersLeftOut } from "../parts/servers-left-out.tsx";
import { useAction, useData } from "../parts/use-data.ts";
import { DEFAULT_KINDS, KIND_GROUPS } from "./webhook-kinds.ts";

const URL_CHARACTERS = 2_048;
const DESCRIPTION_CHARACTERS = 250;
const FIELDS = ["url", "description", "kinds", "serverIds"] as const;

interface FormProps {
  readonly title: string;
  /** Label of the submit button. */
  readonly confirm: string;
  /** The endpoint to change; null for a new endpoint. */
  readonly endpoint: WebhookEndpoint | null;
  readonly save: (settings: WebhookSettings) => Promise<void>;
  readonly onClose: () => void;
}

/** Dialog with the form of a new or changed endpoint: its address, kinds and servers. */
export function EndpointForm({ title, confirm, endpoint, save, onClose }: FormProps) {
  const api = useApi();
  const servers = useData("servers", (signal) => api.servers(signal));
  const [url, setUrl] = useState(endpoint?.url ?? "");
  const [description, setDescription] = useState(endpoint?.description ?? "");
  const [kinds, setKinds] = useState(endpoint?.kinds ?? null);
  const [serverIds, setServerIds] = useState(endpoint?.serverIds ?? null);
  const saving = useAction(async () => {
    if (kinds?.length === 0) throw lacking("kinds", "Choose at least one event type.");
    if (serverIds?.length === 0) throw lacking("serverIds", "Choose at least one server.");
    await save({ url, description, kinds, serverIds });
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    saving.run();
  };
  return (
    <Dialog title={title} onClose={onClose} busy={saving.busy}>
      <form onSubmit={submit}>
        <Field label="Address" hint="A public https URL that receives events" error={saving.failure?.of("url") ?? null}>
          {(tied) => (
            <input
              {...tied}
              type="url"
              required
              maxLength={URL_CHARACTERS}
              placeholder="https://"
              autoComplete="off"
              value={url}
              onInput={({ currentTarget }) => setUrl(currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Description" error={saving.failure?.of("description") ?? null}>
          {(tied) => (
            <input
              {...tied}
              type="text"
              maxLength={DESCRIPTION_CHARACTERS}
              autoComplete="off"
              value={description}
              onInput={({ currentTarget }) => setDescription(currentTarget.value)}
            />
          )}
        </Field>
        <KindChoice chosen={kinds} choose={setKinds} error={saving.failure?.of("kinds") ?? null} />
        <Loaded data={servers} what="the servers">
          {(answer) => (
            <ServerChoice
              answer={answer}
              chosen={serverIds}
              choose={setServerIds}
              error={saving.failure?.of("serverIds") ?? null}
            />
          )}
        </Loaded>
        <Problem failure={saving.failure} fields={FIELDS} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={saving.busy}>
            {saving.busy ? "Saving…" : confirm}
          </button>
          <button type="button" disabled={saving.busy} onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function lacking(field: string, message: string): Failure {
  return new Failure(message, null, { issues: [{ path: [field], code: "custom", message }] });
}

interface KindChoiceProps {
  /** Null: all kinds, also kinds that are added later, but no final states of commands. */
  readonly chosen: readonly WebhookKind[] | null;
  readonly choose: (kinds: WebhookKind[] | null) => void;
  readonly error: string | null;
}

function KindChoice({ chosen, choose, error }: KindChoiceProps) {
  return (
    <Choice legend="Event types" error={error}>
      <label class="check">
        <input
          type="checkbox"
          checked={chosen === null}
          onChange={() => choose(chosen === null ? [...DEFAULT_KINDS] : null)}
        />
        <span>All except command results</span>
        <span class="hint">Includes types added later</span>
      </label>
      {chosen === null
        ? null
        : KIND_GROUPS.map(({ subject, kinds }) => (
            <fieldset key={subject} class="group">
              <legend>{subject}</legend>
              {kinds.map((kind) => (
                <label key={kind} class="check">
                  <input
                    type="checkbox"
                    checked={chosen.includes(kind)}
                    onChange={() => choose(toggled(chosen, kind))}
                  />
                  <code>{kind}</code>
                </label>
              ))}
            </fieldset>
          ))}
    </Choice>
  );
}

interface ServerChoiceProps {
  readonly answer: ConsoleServersAnswer;
  /** Null: all servers, including servers added later. */
  readonly chosen: readonly string[] | null;
  readonly choose: (serverIds: string[] | null) => void;
  readonly error: string | null;
}

function ServerChoice({ answer, chosen, choose, error }: ServerChoiceProps) {
  const { servers } = answer;
  const all = servers.map(({ serverId }) => serverId);
  return (
    <Choice legend="Servers" error={error}>
      <label class="check">
        <input type="checkbox" checked={chosen === null} onChange={() => choose(chosen === null ? all : null)} />
        <span>All servers</span>
        <span class="hint">Includes servers added later</span>
      </label>
      {chosen === null
        ? null
        : servers.map(({ serverId, configuration }) => (
            <label key={serverId} class="check">
              <input
                type="checkbox"
                checked={chosen.includes(serverId)}
                onChange={() => choose(toggled(chosen, serverId))}
              />
              <span>{configuration.serverName}</span>
            </label>
          ))}
      {chosen === null ? null : <ServersLeftOut answer={answer} of="the choice of servers" />}
    </Choice>
  );
}

function toggled<T>(chosen: readonly T[], value: T): T[] {
  return chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value];
}

interface ChoiceProps {
  readonly legend: string;
  readonly error: string | null;
  readonly children: ComponentChildren;
}

function Choice({ legend, error, children }: ChoiceProps) {
  const id = useId();
  return (
    <fieldset aria-describedby={error === null ? undefined : id}>
      <legend>{legend}</legend>
      {children}
      {error === null ? null : (
        <p class="error" id={id} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
