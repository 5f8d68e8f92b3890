import type { ComponentChildren } from "preact";

import type { WebhookAttempt, WebhookDelivery } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Block, Detail, DetailList, Moment, State } from "../parts/values.tsx";

interface AttemptsProps {
  readonly delivery: WebhookDelivery;
  /** It is being sent again. */
  readonly busy: boolean;
  /** Sends it again; null where nothing can be sent. */
  readonly redeliver: (() => void) | null;
  readonly onClose: () => void;
  /** Why that failed. */
  readonly children: ComponentChildren;
}

/**
 * One delivery with its attempts, the newest first. What the receiver replied is text, whatever it
 * looks like.
 */
export function Attempts({ delivery, busy, redeliver, onClose, children }: AttemptsProps) {
  const { type, status, eventId, attempts, createdAt, completedAt, nextAttemptAt } = delivery;
  const isUnderWay = status === "delivering";
  return (
    <Dialog title={type} onClose={onClose}>
      <DetailList>
        <Detail name="State">
          <State of={status} />
        </Detail>
        <Detail name="Made">
          <Moment at={createdAt} />
        </Detail>
        <Detail name={status === "pending" ? "Next attempt" : "Final"}>
          <Moment at={status === "pending" ? nextAttemptAt : completedAt} />
        </Detail>
        <Detail name="webhook-id">
          <code>{eventId}</code>
        </Detail>
      </DetailList>
      {attempts.length === 0 ? <p class="quiet">It was not sent yet.</p> : null}
      <ol class="attempts">
        {attempts.toReversed().map((attempt) => (
          <Attempt key={attempt.number} attempt={attempt} />
        ))}
      </ol>
      {children}
      <div class="buttons">
        {redeliver === null ? null : (
          <button type="button" class="primary" disabled={busy || isUnderWay} onClick={redeliver}>
            {busy ? "Sending…" : "Send it again"}
          </button>
        )}
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
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

/** How an attempt ended, in words. */
export function outcomeOf({ status, error }: WebhookAttempt): string {
  if (error === null) return `answered ${status ?? ""}`;
  return error;
}
