/**
 * Processor time by process, from Linux's /proc. Load of other programs hardly changes the times of
 * named processes. Other Java, PostgreSQL and Redis processes on the machine are counted too.
 */
import { allProcesses } from "./program-usage.ts";

/** Milliseconds of used processor time, by name of the process. */
export type ProcessorTimes = ReadonlyMap<string, number>;

/**
 * Times of the named processes, and one sum for each program of {@link SERVERS} over all its
 * processes on the machine.
 */
export function processorTimes(pids: ReadonlyMap<string, number>): ProcessorTimes {
  const names = new Map([...pids].map(([name, pid]) => [pid, name]));
  const times = new Map<string, number>();
  for (const { pid, command, cpuMs } of allProcesses()) {
    const name = names.get(pid) ?? SERVERS.find((server) => command.startsWith(server));
    if (name !== undefined) times.set(name, (times.get(name) ?? 0) + cpuMs);
  }
  return times;
}

/** Processor time per unit of work between two readings, in microseconds; the largest first. */
export function microsecondsEach(before: ProcessorTimes, after: ProcessorTimes, count: number): string {
  return [...after]
    .map(([name, timeMs]) => ({ name, us: ((timeMs - (before.get(name) ?? 0)) * 1000) / count }))
    .toSorted((a, b) => b.us - a.us)
    .map(({ name, us }) => `${name} ${us.toFixed(0)}`)
    .join("  ");
}

/** Processor seconds of one process per million units of work between two readings. */
export function secondsPerMillion(before: ProcessorTimes, after: ProcessorTimes, name: string, count: number): number {
  return (((after.get(name) ?? 0) - (before.get(name) ?? 0)) / 1_000 / count) * 1_000_000;
}

/** Kernel names of the programs of Kafka, PostgreSQL and Redis. */
const SERVERS = ["java", "postgres", "redis-server"];
