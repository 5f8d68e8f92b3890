/**
 * Counts the outcomes of idempotency records: one for each record of each request, plus `late` and
 * `unconfirmed`.
 */
import type { RecordOutcome } from "@kapi/admission";
import { counter } from "@kapi/runtime";

const records = counter(
  "gateway.claims",
  "Idempotency records by `outcome`: claimed (created), taken_over (reclaimed), duplicate, mismatch, open, untouched (skipped), late (open for too long, so no 202 was sent), unconfirmed (passwords were sent, but the record could not be marked confirmed in Redis)",
  "{claim}",
);

/**
 * Labels of outcomes that differ from the names in code: dashboards and alerts use these labels.
 */
const LABELS: Partial<Record<RecordOutcome["kind"], string>> = {
  created: "claimed",
  reclaimed: "taken_over",
  skipped: "untouched",
};

/**
 * Counts the outcomes of a request's idempotency records. Call it once for a request, with the
 * final outcomes: an open record that is checked again and again counts once.
 */
export function countRecordOutcomes(outcomes: readonly RecordOutcome[]): void {
  for (const { kind } of outcomes) records.add(1, { outcome: LABELS[kind] ?? kind });
}

/** Counts records whose passwords are sent although their confirmation in Redis failed. */
export function countUnconfirmedRecords(count: number): void {
  records.add(count, { outcome: "unconfirmed" });
}

/** Counts records that were open for too long, so that no 202 was sent. */
export function countLateRecords(count: number): void {
  records.add(count, { outcome: "late" });
}
