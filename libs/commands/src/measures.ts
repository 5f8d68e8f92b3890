/**
 * Metrics of the command worker: the duration of commands, the inbox and outbox, and the breakers.
 */
import type { CommandHeader } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";
import type { Database } from "@kapi/postgres";
import { outboxAge } from "@kapi/outbox";
import { histogram, isMeasuring, observed } from "@kapi/runtime";

const MS_PER_SECOND = 1_000;

const duration = histogram(
  "commands.duration",
  "Time from the acceptance of a command to its final state, by `worker`, `operation` and `status`",
  "s",
  "commands",
);

/** Records the duration of a final command. Called after the commit. */
export function measureFinalState(worker: string, message: CommandHeader, status: string, clock: Clock): void {
  if (!isMeasuring()) return;
  const seconds = Math.max(0, clock.nowMs() - Date.parse(message.createdAt)) / MS_PER_SECOND;
  duration.record(seconds, { worker, operation: message.operation, status });
}

/** Registers the outbox metric; returns a function that removes it. */
export function measureOutbox(worker: string, database: Database): () => void {
  return observed(
    "commands.outbox.age",
    "Age of the oldest committed message that is not known to be published, by `worker`",
    "s",
    async () => [{ value: await outboxAge(database), attributes: { worker } }],
  );
}

/** The parts of a worker that its metrics read. */
export interface MeasuredWorker {
  readonly partitions: { oldestMs(): number | null; earliestDeadlineMs(): number | null; loaded(): number };
  readonly scheduler: { servers(): readonly { readonly serverId: string; readonly parked: boolean }[] };
  readonly clock: Clock;
}

/** Registers the metrics of a worker; returns a function that removes them. */
export function measureWorker(worker: string, { partitions, scheduler, clock }: MeasuredWorker): () => void {
  const stops = [
    observed(
      "commands.inbox.age",
      "Time since the acceptance of the oldest open command that this process has in memory, by `worker`",
      "s",
      () => [{ value: secondsSince(partitions.oldestMs(), clock), attributes: { worker } }],
    ),
    observed(
      "commands.inbox.overdue",
      "Time since the earliest deadline of the open commands that this process has in memory, or 0 before this deadline, by `worker`",
      "s",
      () => [{ value: secondsSince(partitions.earliestDeadlineMs(), clock), attributes: { worker } }],
    ),
    observed("commands.inbox.loaded", "Open commands that this process has in memory, by `worker`", "{command}", () => [
      { value: partitions.loaded(), attributes: { worker } },
    ]),
    observed(
      "trading_server.breaker.open",
      "1 while commands of a trading server are parked because it does not answer, by `worker` and `server`",
      "1",
      () =>
        scheduler.servers().map(({ serverId, parked }) => ({
          value: parked ? 1 : 0,
          attributes: { worker, server: serverId },
        })),
    ),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** 0 for a time in the future, and without a time. */
function secondsSince(timeMs: number | null, clock: Clock): number {
  return timeMs === null ? 0 : Math.max(0, clock.nowMs() - timeMs) / MS_PER_SECOND;
}
