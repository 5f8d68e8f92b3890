/**
 * The span of each attempt at a delivery whose event belongs to a sampled trace. The parent is the
 * span that recorded the event, even days earlier. So a delivery is found in the trace of its
 * cause. A new trace would make its own sampling decision.
 */
import { ATTRIBUTE, type Span, startSpan } from "@kapi/runtime";

import type { Reply } from "../domain/attempt.ts";
import type { LeasedDelivery } from "../domain/ports.ts";

const SUCCESSES = { from: 200, to: 299 };
/** Error type of an attempt without a response. */
const NO_ANSWER = "no_answer";

/**
 * Starts the span of the next attempt; null if the event belongs to no sampled trace. Only the host
 * of the URL is recorded.
 */
export function startAttempt(
  { traceparent, endpointId, eventId, attemptCount }: LeasedDelivery,
  url: string,
): Span | null {
  if (traceparent === undefined) return null;
  const attributes = {
    [ATTRIBUTE.httpMethod]: "POST",
    [ATTRIBUTE.serverAddress]: URL.parse(url)?.hostname ?? "",
    [ATTRIBUTE.webhookEvent]: eventId,
    [ATTRIBUTE.webhookEndpoint]: endpointId,
    [ATTRIBUTE.webhookAttempt]: attemptCount + 1,
  };
  return startSpan("deliver webhook", { role: "client", parent: traceparent, attributes });
}

/** Ends the span, as failed unless the status is 2xx. */
export function endAttempt(span: Span | null, { status }: Reply): void {
  if (span === null) return;
  if (status !== null) span.set({ [ATTRIBUTE.httpStatus]: status });
  if (status !== null && status >= SUCCESSES.from && status <= SUCCESSES.to) return span.end();
  span.fail(status === null ? NO_ANSWER : String(status));
}
