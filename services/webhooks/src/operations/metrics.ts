/** Counters and durations of events and attempts. `service.ts` has the gauges of deliveries. */
import { counter, histogram } from "@kapi/runtime";

import type { MissingEvents } from "../domain/source-order.ts";

const MS_PER_SECOND = 1_000;

const attempts = counter("webhooks.attempts", "Attempts to deliver, by `outcome` (succeeded, failed)");
const duration = histogram(
  "webhooks.attempt.duration",
  "How long attempts took, to the end of the receiver's answer, by `outcome`",
  "s",
);
const events = counter("webhooks.events", "Events that were recorded", "{event}");
const missing = counter(
  "webhooks.events.missing",
  "Missing events that later events of their account stopped waiting for, by `reason` (overdue, too_many, other_source)",
  "{event}",
);
const disabled = counter(
  "webhooks.endpoints.disabled",
  "Endpoints that the service itself disabled, by `reason` (gone, failing)",
  "{endpoint}",
);

/** Records the outcome and the duration of an attempt. */
export function measureAttempt(outcome: "succeeded" | "failed", durationMs: number): void {
  attempts.add(1, { outcome });
  duration.record(durationMs / MS_PER_SECOND, { outcome });
}

/** Counts newly recorded events. */
export function countEvents(recorded: number): void {
  events.add(recorded);
}

/**
 * Counts missing events that later events no longer wait for. The number of missing events with the
 * reason `other_source` is unknown, so they are counted as 1.
 */
export function countMissing({ first, last, reason }: MissingEvents): void {
  missing.add(reason === "other_source" ? 1 : last - first + 1, { reason });
}

/** Counts an endpoint that the service itself disabled. */
export function countDisabled(reason: "gone" | "failing"): void {
  disabled.add(1, { reason });
}
