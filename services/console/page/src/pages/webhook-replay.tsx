import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import { credits as whole } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Problem } from "../parts/notice.tsx";
import { useAction } from "../parts/use-data.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Characters of `2026-11-21T10:15`, which is what the field holds. */
const TO_THE_MINUTE = 16;

interface ReplayProps {
  readonly endpointId: string;
  /** Called with a text about what is sent again. */
  readonly onReplayed: (message: string) => void;
  readonly onClose: () => void;
}

/** Sends the events of a time to the endpoint again. */
export function Replay({ endpointId, onReplayed, onClose }: ReplayProps) {
  const api = useApi();
  const [since, setSince] = useState(() => inOwnZone(Date.now() - HOUR_MS));
  const replay = useAction(async () => {
    const events = await api.replayWebhook(endpointId, new Date(since).toISOString());
    onReplayed(events === 0 ? "There was no event in that time." : `${whole(events)} events are on their way again.`);
    onClose();
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    replay.run();
  };
  return (
    <Dialog title="Replay" onClose={onClose}>
      <form onSubmit={submit}>
        <p>
          Every event since that time that this endpoint takes is sent to it, also those that it was sent before, under
          the same <code>webhook-id</code>. Events are kept for 30 days.
        </p>
        <Field label="Since, in your zone" error={replay.failure?.of("since") ?? null}>
          {(tied) => (
            <input
              {...tied}
              type="datetime-local"
              required
              value={since}
              onInput={({ currentTarget }) => setSince(currentTarget.value)}
            />
          )}
        </Field>
        <Problem failure={replay.failure} fields={["since"]} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={replay.busy}>
            {replay.busy ? "Sending…" : "Send them again"}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** A time as a field of the viewer's zone holds it. */
function inOwnZone(ms: number): string {
  const offsetMs = new Date(ms).getTimezoneOffset() * MINUTE_MS;
  return new Date(ms - offsetMs).toISOString().slice(0, TO_THE_MINUTE);
}
