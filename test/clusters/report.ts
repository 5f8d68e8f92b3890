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
    "Seconds from the beginning of the fault until every account had a new operation accepted, one carried out and a new live",
    "sample, and every organization a new event delivered. Slowest is the longest that an operation took to be accepted, late",
    "the number of answers after more than 5.5 s. A dash: not before the deadline.",
    "",
    `operations  ${kinds.map(([kind, all]) => `${all.length} ${kind}s`).join(", ")}, ${reads} reads, ${duplicates} equal keys, ${notSent} not sent`,
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
