import { type Clock, toIso } from "@kapi/kernel";

import type { EvidenceStore } from "../domain/ports.ts";

const DAY_MS = 24 * 3_600_000;
/** Days that evidence is kept (decisions, 20.3). */
export const KEPT_DAYS = 400;
/** Maximum number of documents that one statement deletes. */
const MAX_DELETED = 500;

/** Deletes evidence that is older than its retention. Its breaches stay. */
export async function deleteOldEvidence(store: Pick<EvidenceStore, "deleteBefore">, clock: Clock): Promise<void> {
  const before = toIso(clock.nowMs() - KEPT_DAYS * DAY_MS);
  while ((await store.deleteBefore(before, MAX_DELETED)) === MAX_DELETED);
}
