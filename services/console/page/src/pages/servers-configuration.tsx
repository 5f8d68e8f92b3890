import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import { Failure } from "../api/failure.ts";
import type { ConsoleServer } from "../api/shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { SelectField } from "../parts/select-field.tsx";
import { Problem } from "../parts/notice.tsx";
import { useAction } from "../parts/use-data.ts";
import { leveragesOf } from "./leverages.ts";

/** The currencies that an organization can choose, with their names. */
const CURRENCIES: Readonly<Record<ConsoleServer["configuration"]["currency"], string>> = {
  USD: "US dollar ($)",
  NGN: "Nigerian naira (₦)",
};
const NO_DEFAULT = "";

interface EditProps {
  readonly server: ConsoleServer;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

/** Dialog that changes the configuration of a server. */
export function EditConfiguration({ server, onSaved, onClose }: EditProps) {
  const api = useApi();
  const { serverName, ...before } = server.configuration;
  const [text, setText] = useState(before.supportedLeverage.join(", "));
  const [byDefault, setByDefault] = useState(String(before.defaultLeverage ?? NO_DEFAULT));
  const [currency, setCurrency] = useState(before.currency);
  const leverages = leveragesOf(text);
  const choices = typeof leverages === "string" ? [] : leverages;
  const save = useAction(async () => {
    if (typeof leverages === "string") {
      throw new Failure(leverages, null, {
        issues: [{ path: ["supportedLeverage"], code: "custom", message: leverages }],
      });
    }
    // If the list no longer has the chosen default, the server gets no default.
    const defaultLeverage = leverages.find((leverage) => String(leverage) === byDefault) ?? null;
    await api.changeServer(server.serverId, { supportedLeverage: [...leverages], defaultLeverage, currency });
    onSaved();
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save.run();
  };
  return (
    <Dialog title={`Configuration of ${serverName}`} onClose={onClose} busy={save.busy}>
      <form onSubmit={submit}>
        <Field
          label="Supported leverage"
          hint="Whole numbers from 1 to 10000, separated by commas"
          error={save.failure?.of("supportedLeverage") ?? null}
        >
          {(tied) => (
            <textarea
              {...tied}
              rows={3}
              required
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          )}
        </Field>
        <SelectField
          label="Default leverage"
          error={save.failure?.of("defaultLeverage") ?? null}
          value={byDefault}
          options={[[NO_DEFAULT, "None"], ...choices.map((leverage) => [`${leverage}`, `${leverage}`] as const)]}
          choose={setByDefault}
        />
        <SelectField
          label="Currency"
          hint="Applies to new accounts only."
          error={save.failure?.of("currency") ?? null}
          value={currency}
          options={Object.entries(CURRENCIES)}
          choose={(code) => setCurrency(code === "NGN" ? "NGN" : "USD")}
        />
        <Problem failure={save.failure} fields={["supportedLeverage", "defaultLeverage", "currency"]} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={save.busy}>
            {save.busy ? "Saving…" : "Save"}
          </button>
          <button type="button" disabled={save.busy} onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
