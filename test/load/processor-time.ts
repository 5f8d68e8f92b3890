/** Processor time by process, from Linux's /proc. Other load on the machine hardly changes it. */
import { readdirSync, readFileSync } from "node:fs";

const MS_PER_TICK = 10;

/** Milliseconds of used processor time, by name of the process. */
export type ProcessorTimes = ReadonlyMap<string, number>;

/** Times of the named processes, and sums for each kind of server on the machine. */
export function processorTimes(pids: ReadonlyMap<string, number>): ProcessorTimes {
  const names = new Map([...pids].map(([name, pid]) => [pid, name]));
  const times = new Map<string, number>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = statOf(Number(entry));
    if (stat === null) continue;
    const name = names.get(Number(entry)) ?? SERVERS.find((server) => stat.command.startsWith(server));
    if (name !== undefined) times.set(name, (times.get(name) ?? 0) + stat.timeMs);
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

/** Kernel names of the programs of Kafka, PostgreSQL and Redis. */
const SERVERS = ["java", "postgres", "redis-server"];

function statOf(pid: number): { command: string; timeMs: number } | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // The process ended after the list of /proc was read.
    return null;
  }
  const end = text.lastIndexOf(")");
  const fields = text.slice(end + 2).split(" ");
  // Fields 14 to 17 of proc(5): user and system time in clock ticks, of the process and of its
  // ended children. PostgreSQL's backends end with their connections, and Redis rewrites its log in
  // a child.
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { command: text.slice(text.indexOf("(") + 1, end), timeMs: ticks * MS_PER_TICK };
}
