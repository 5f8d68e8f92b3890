import type { Clock } from "@kapi/kernel";
import { observed } from "@kapi/runtime";

const MS_PER_SECOND = 1_000;

/**
 * Measures how long ago the audit entries of each service were last fetched. `fetchedAtMs` has, by
 * service, the time of the last fetch; before the first fetch, the start of the process. The name
 * of the metric begins with the service that fetched the entries in the previous release.
 */
export function measureAuditAge(fetchedAtMs: ReadonlyMap<string, number>, clock: Clock): void {
  observed(
    "organization.audit.age",
    "Time since the waiting audit log entries of a service were last fetched and recorded, by `source`",
    "s",
    () =>
      Array.from(fetchedAtMs, ([source, atMs]) => ({
        value: Math.max(0, clock.nowMs() - atMs) / MS_PER_SECOND,
        attributes: { source },
      })),
  );
}
