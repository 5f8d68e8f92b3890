/** Resident memory of processes, from Linux's /proc. */
import { readFileSync } from "node:fs";

const KIB = 1024;
const SAMPLE_INTERVAL_MS = 10;

/** Current resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kib === undefined) throw new Error(`/proc shows no resident memory of process ${pid}`);
  return Number(kib) * KIB;
}

/** Runs `work`. Returns the peak memory of each process meanwhile, in bytes, by name. */
export async function peaksDuring(
  pids: ReadonlyMap<string, number>,
  work: () => Promise<void>,
): Promise<Map<string, number>> {
  const peaks = new Map<string, number>();
  const sample = (): void => {
    for (const [name, pid] of pids) peaks.set(name, Math.max(peaks.get(name) ?? 0, residentBytes(pid)));
  };
  sample();
  const timer = setInterval(sample, SAMPLE_INTERVAL_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  sample();
  return peaks;
}
