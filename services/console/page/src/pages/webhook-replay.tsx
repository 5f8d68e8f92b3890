import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import { counted } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Problem } from "../parts/notice.tsx";
import { useAction } from "../parts/use-data.ts";
import { currentZone, fromLocalInput, toLocalInput } from "../time-zone.ts";

const HOUR_MS = 3_600_000;

interface ReplayProps {
  readonly endpointId: string;
  /** Called with a text about the replay. */
  readonly onReplayed: (message: string) => void;
  readonly onClose: () => void;
}

/**
 * Dialog that sends an endpoint all events since a chosen time that match its kinds and servers,
 * whether they were sent before or not.
 */
export function Replay({ endpointId, onReplayed, onClose }: ReplayProps) {
  const api = useApi();
  const zone = currentZone();
  const [since, setSince] = useState(() => toLocalInput(zone, Date.now() - HOUR_MS));
  const replay = useAction(async () => {
    const sinceMs = fromLocalInput(zone, since);
    if (sinceMs === null) return;
    const events = await api.replayWebhook(endpointId, new Date(sinceMs).toISOString());
    onReplayed(
      events === 0
        ? "No event since that time matches this endpoint."
        : `Replaying ${counted(events, "event", "events")}.`,
    );
    onClose();
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    replay.run();
  };
  return (
    <Dialog title="Replay" onClose={onClose} busy={replay.busy}>
      <form onSubmit={submit}>
        <p>
          Sends this endpoint every matching event since the chosen time, including events that were already delivered.
          Each keeps its <code>webhook-id</code>. Events are kept for 30 days.
        </p>
        <Field label={`Since (${zone})`} error={replay.failure?.of("since") ?? null}>
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
            {replay.busy ? "Sending…" : "Replay events"}
          </button>
          <button type="button" disabled={replay.busy} onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
