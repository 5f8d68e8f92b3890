import type { WebhookAttempt, WebhookDelivery } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/notice.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { useAction } from "../parts/use-data.ts";
import { Block, Detail, DetailList, Moment, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";

interface AttemptsProps {
  readonly delivery: WebhookDelivery;
  /** Sends the delivery again; null if it cannot be sent. */
  readonly redeliver: (() => Promise<void>) | null;
  readonly onClose: () => void;
}

/**
 * Dialog with one delivery and its attempts, newest first. Replies of the receiver are shown as
 * text, never as markup.
 */
export function Attempts({ delivery, redeliver, onClose }: AttemptsProps) {
  const { type, status, eventId, attempts, createdAt, completedAt, nextAttemptAt } = delivery;
  const isUnderWay = status === "delivering";
  const again = useAction(async () => redeliver?.());
  return (
    <Dialog title={type} onClose={onClose} busy={again.busy}>
      <DetailList>
        <Detail name="State">
          <State of={status} />
        </Detail>
        <Detail name="Created">
          <Moment at={createdAt} />
        </Detail>
        <Detail name={status === "pending" ? "Next attempt" : "Final"}>
          <Moment at={status === "pending" ? nextAttemptAt : completedAt} />
        </Detail>
        <Detail name="webhook-id">
          <code>{eventId}</code>
        </Detail>
      </DetailList>
      <AttemptList attempts={attempts} />
      <p>
        <Link to={`/webhooks/events/${part(eventId)}`}>Payload, and deliveries to other endpoints</Link>
      </p>
      <Problem failure={again.failure} />
      <div class="buttons">
        {redeliver === null ? null : (
          <Permitted to="webhooks:manage">
            <button type="button" class="primary" disabled={again.busy || isUnderWay} onClick={again.run}>
              {again.busy ? "Sending…" : "Resend"}
            </button>
          </Permitted>
        )}
        <button type="button" disabled={again.busy} onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

/** Attempts, newest first. */
export function AttemptList({ attempts }: Pick<WebhookDelivery, "attempts">) {
  if (attempts.length === 0) return <p class="quiet">No attempts yet.</p>;
  return (
    <ol class="attempts">
      {attempts.toReversed().map((attempt) => (
        <Attempt key={attempt.number} attempt={attempt} />
      ))}
    </ol>
  );
}

function Attempt({ attempt }: { readonly attempt: WebhookAttempt }) {
  const { number, at, durationMs, replyStart } = attempt;
  return (
    <li>
      <p>
        <strong>Attempt {whole(number)}:</strong> {outcomeOf(attempt)}
        <span class="under">
          <Moment at={at} /> · {whole(durationMs)} ms
        </span>
      </p>
      {replyStart === "" ? null : <Block text={replyStart} label={`Reply to attempt ${number}`} wraps />}
    </li>
  );
}

/** The outcome of an attempt in words: the status of the response, or the error. */
export function outcomeOf({ status, error }: WebhookAttempt): string {
  if (error === null) return `answered ${status ?? ""}`;
  return error;
}
