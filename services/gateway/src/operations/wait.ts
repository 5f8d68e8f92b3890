import type { Call } from "./call.ts";

/** Maximum value of `?wait=` (decisions, 3.7). */
const MAX_WAIT_S = 30;
/**
 * Maximum wait of one call to command-status. It is below the time that running requests have when
 * the process stops.
 */
export const WAIT_SLICE_MS = 5_000;

/**
 * The time that `?wait=` asks for, in milliseconds. The parameter has seconds. A malformed value
 * means no wait, a value above 30 means 30 s.
 */
export function waitMsOf({ query }: Pick<Call, "query">): number {
  if (query === null || typeof query !== "object" || !("wait" in query)) return 0;
  const seconds = typeof query.wait === "string" && query.wait !== "" ? Number(query.wait) : 0;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), MAX_WAIT_S) * 1_000 : 0;
}
