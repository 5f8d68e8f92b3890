/**
 * The span of each attempt at a delivery whose event belongs to a trace. It stands beneath the one
 * that took the event in, however much later it is made: whether a trace is recorded was decided at
 * its beginning, and what a receiver got is found under the same trace as what caused it.
 */
import { ATTRIBUTE, type Span, startSpan } from "@kapi/runtime";

import type { Reply } from "../domain/attempt.ts";
import type { Leased } from "../domain/ports.ts";

const SUCCESSES = { from: 200, to: 299 };
/** What an attempt failed by that got no answer. */
const NO_ANSWER = "no_answer";

/**
 * Begins the span of the next attempt; null where its event belongs to no trace. Of the address it
 * has the host alone.
 */
export function startAttempt({ traceparent, endpointId, eventId, attemptCount }: Leased, url: string): Span | null {
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

/** Ends it with what came of the attempt: the status, or that there was none. */
export function endAttempt(span: Span | null, { status }: Reply): void {
  if (span === null) return;
  if (status !== null) span.set({ [ATTRIBUTE.httpStatus]: status });
  if (status !== null && status >= SUCCESSES.from && status <= SUCCESSES.to) return span.end();
  span.fail(status === null ? NO_ANSWER : String(status));
}
