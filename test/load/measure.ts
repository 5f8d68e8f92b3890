/** Closed-loop load, and its rate and latencies. */

/** Figures of one measured phase. */
export interface Figures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly count: number;
}

/** The load of a phase. */
export interface LoadOptions {
  /** Number of concurrent calls. */
  readonly concurrency: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** One call. It rejects for an unexpected answer, which ends the phase. */
  readonly call: () => Promise<unknown>;
}

/**
 * Runs `concurrency` loops of calls. Counts calls that begin after the warm-up and end within the
 * measured time.
 */
export async function closedLoop(options: LoadOptions): Promise<Figures> {
  const startedMs = performance.now();
  const measureFromMs = startedMs + options.warmUpMs;
  const endMs = measureFromMs + options.measureMs;
  const latenciesMs: number[] = [];
  const loop = async (): Promise<void> => {
    for (;;) {
      const beforeMs = performance.now();
      if (beforeMs >= endMs) return;
      await options.call();
      const afterMs = performance.now();
      if (beforeMs >= measureFromMs && afterMs <= endMs) latenciesMs.push(afterMs - beforeMs);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, loop));
  return figuresOf(latenciesMs, options.measureMs);
}

/** Percentiles of the latencies of calls, and the rate of these calls within `overMs`. */
export function figuresOf(latenciesMs: number[], overMs: number): Figures {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { perSecond: (sorted.length * 1000) / overMs, p50Ms: at(0.5), p99Ms: at(0.99), count: sorted.length };
}

/** One line of the report. */
export function line(label: string, figures: Figures): string {
  const rate = Math.round(figures.perSecond).toLocaleString("en").padStart(9);
  const p50 = figures.p50Ms.toFixed(2).padStart(8);
  const p99 = figures.p99Ms.toFixed(2).padStart(8);
  return `${label.padEnd(64)} ${rate}/s   p50 ${p50} ms   p99 ${p99} ms   n=${figures.count}`;
}
