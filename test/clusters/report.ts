import type { Violations } from "../live/violations.ts";
import type { OperationLog } from "./operation-log.ts";
import type { FaultRecord } from "./recovery.ts";

/** The report of a run, as lines to print. */
export function reportLines(
  operationLog: OperationLog,
  faults: readonly FaultRecord[],
  violations: Violations,
): string[] {
  const kinds = [...Map.groupBy(operationLog.operations, ({ kind }) => kind)];
  const { reads, duplicates, notSent, late, slowestMs } = operationLog.counts;
  return [
    "",
    `${"fault".padEnd(52)}  lasted  accepted  completed  live  delivered  slowest  retried  late`,
    ...faults.map((one) =>
      [
        one.name.padEnd(52),
        seconds(one.lastedMs).padStart(6),
        seconds(one.acceptedMs).padStart(8),
        seconds(one.completedMs).padStart(9),
        seconds(one.liveMs).padStart(4),
        seconds(one.deliveredMs).padStart(9),
        seconds(one.slowestAcceptMs).padStart(7),
        String(one.retried).padStart(7),
        String(one.late).padStart(4),
      ].join("  "),
    ),
    "",
    "lasted: duration of the fault. The next four columns: seconds from the beginning of the fault until every account had a",
    "new accepted operation, a new operation whose command is final, and a new live sample, and until every organization had",
    "received a new event. A dash: not before the deadline. slowest: the longest time in seconds until an operation was",
    "accepted. retried: number of operations with more than one try. late: number of tries that took more than 5.5 s.",
    "",
    `operations  ${kinds.map(([kind, all]) => `${all.length} ${kind}s`).join(", ")}, ${reads} reads, ${duplicates} accepted operations sent again, ${notSent} not sent`,
    `answers     ${[...operationLog.answers].map(([kind, count]) => `${count} × ${kind}`).join(", ")}`,
    `late        ${late} answers after more than 5.5 s (15.5 s with ?wait=10), the slowest after ${seconds(slowestMs)} s`,
    `final       the slowest ${[...operationLog.slowestFinalMs].map(([kind, ms]) => `${kind} after ${seconds(ms)} s`).join(", ")}`,
    `violations  ${violations.count}`,
    ...violations.kept.map((violation) => `  ${violation}`),
  ];
}

function seconds(ms: number | null): string {
  return ms === null ? "-" : (ms / 1_000).toFixed(1);
}
