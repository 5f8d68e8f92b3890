/**
 * What the programs of a stack use, from Linux's /proc: processor time, time slices and memory of
 * each given process together with its descendants. Programs of other stacks on the machine are
 * not counted.
 */
import { readdirSync, readFileSync } from "node:fs";

const MS_PER_TICK = 10;
const KIB = 1024;

/** The sums over the running processes of one program, since each of them started. */
export interface ProgramUsage {
  /** Includes the processor time of ended child processes. */
  readonly cpuMs: number;
  /** How often the kernel gave a processor to one of the threads that still run. */
  readonly timeSlices: number;
}

/** Usage of the programs with these process ids, by name. Ended programs are left out. */
export function usageOf(pids: ReadonlyMap<string, number>): Map<string, ProgramUsage> {
  const usage = new Map<string, ProgramUsage>();
  for (const [name, processes] of processesOf(pids)) {
    const sums = { cpuMs: 0, timeSlices: 0 };
    for (const { pid, cpuMs } of processes) {
      sums.cpuMs += cpuMs;
      sums.timeSlices += timeSlicesOf(pid);
    }
    usage.set(name, sums);
  }
  return usage;
}

/**
 * Proportional set size in bytes, by name: a shared page is divided among the processes that share
 * it.
 */
export function memoryOf(pids: ReadonlyMap<string, number>): Map<string, number> {
  return new Map(
    Array.from(processesOf(pids), ([name, processes]) => [
      name,
      processes.reduce((sum, { pid }) => sum + proportionalBytesOf(pid), 0),
    ]),
  );
}

/** A process of this machine. */
interface Process {
  readonly pid: number;
  readonly parent: number;
  /** The kernel's name for the program. */
  readonly command: string;
  readonly cpuMs: number;
}

function processesOf(pids: ReadonlyMap<string, number>): Map<string, Process[]> {
  const children = Map.groupBy(allProcesses(), ({ parent }) => parent);
  const all = new Map([...children.values()].flat().map((process) => [process.pid, process]));
  const found = new Map<string, Process[]>();
  for (const [name, pid] of pids) {
    const root = all.get(pid);
    if (root === undefined) continue;
    const tree = [root];
    for (const process of tree) tree.push(...(children.get(process.pid) ?? []));
    found.set(name, tree);
  }
  return found;
}

/** All processes of this machine, with the processor time that they used so far. */
export function allProcesses(): Process[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    const stat = textOf(`/proc/${entry}/stat`);
    if (stat === null) return [];
    const end = stat.lastIndexOf(")");
    const fields = stat.slice(end + 2).split(" ");
    // Fields 14 to 17 of proc(5): user and system time in clock ticks, of the process and of its
    // ended children. PostgreSQL's backends and Redis's log rewrites end during a measurement.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    const command = stat.slice(stat.indexOf("(") + 1, end);
    return [{ pid: Number(entry), parent: Number(fields[1]), command, cpuMs: ticks * MS_PER_TICK }];
  });
}

function timeSlicesOf(pid: number): number {
  let threads: string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return 0;
  }
  return threads.reduce((sum, thread) => {
    // The third field: the number of time slices.
    const [, , slices = "0"] = (textOf(`/proc/${pid}/task/${thread}/schedstat`) ?? "").trim().split(" ");
    return sum + Number(slices);
  }, 0);
}

function proportionalBytesOf(pid: number): number {
  const rollup = textOf(`/proc/${pid}/smaps_rollup`) ?? "";
  return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * KIB;
}

/** The text of a file in /proc; null if it cannot be read, as after the end of its process. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
