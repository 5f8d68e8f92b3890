/**
 * Processor time by process, from Linux's /proc: what a request costs, whatever else the machine is
 * doing.
 */
import { readdirSync, readFileSync } from "node:fs";

const MS_PER_TICK = 10;

/** Milliseconds of processor time that processes have used so far, by name. */
export type ProcessorTimes = ReadonlyMap<string, number>;

/**
 * Times of the named processes, and of the servers found beside them (all of their processes
 * together).
 */
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

/** What was used between two readings, per unit of work, in microseconds; the largest first. */
export function microsecondsEach(before: ProcessorTimes, after: ProcessorTimes, count: number): string {
  return [...after]
    .map(([name, timeMs]) => ({ name, us: ((timeMs - (before.get(name) ?? 0)) * 1000) / count }))
    .toSorted((a, b) => b.us - a.us)
    .map(({ name, us }) => `${name} ${us.toFixed(0)}`)
    .join("  ");
}

/** As the kernel names the programs of Kafka, PostgreSQL and Redis. */
const SERVERS = ["java", "postgres", "redis-server"];

function statOf(pid: number): { command: string; timeMs: number } | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // The process has ended since the folder was listed.
    return null;
  }
  const end = text.lastIndexOf(")");
  const fields = text.slice(end + 2).split(" ");
  // Fields 14 to 17 of proc(5): user and system time in clock ticks, its own and that of its
  // children that have ended: PostgreSQL's backends come and go with the connections of pools, and
  // Redis rewrites its log in a child.
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { command: text.slice(text.indexOf("(") + 1, end), timeMs: ticks * MS_PER_TICK };
}
