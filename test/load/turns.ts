/**
 * Measures competitors in turns. Slow changes of a machine (neighbours, caches, clock) then affect
 * all equally, so that the ratios are meaningful even if single figures are not.
 */
import { closedLoop, type Figures } from "./measure.ts";

/** A system or a variant that is measured in turns with others. */
export interface Competitor {
  /** One call. It rejects for an unexpected answer. */
  readonly call: () => Promise<unknown>;
  /** Called before each turn of this competitor. */
  readonly before?: () => unknown;
  /**
   * Called after each turn of this competitor. It waits for remaining work, so that this work does
   * not affect the next turn.
   */
  readonly after?: () => unknown;
}

/** The load of a turn. */
export interface TurnOptions {
  readonly concurrency: number;
  /** Additional warm-up at the start of the first turn of each competitor. */
  readonly warmUpMs: number;
  readonly turnWarmUpMs: number;
  readonly turnMs: number;
}

/** Number of turns of each competitor. */
const TURNS = 4;

/**
 * Measures `competitors` in turns. Every second round is in reverse order, so that no competitor is
 * always earlier. Returns the means over the turns of each competitor, but the sum of `count`.
 */
export async function takeTurns<Name extends string>(
  competitors: Readonly<Record<Name, Competitor>>,
  options: TurnOptions,
): Promise<Record<Name, Figures>> {
  const names = Object.keys(competitors) as Name[];
  const turns = new Map<Name, Figures[]>(names.map((name) => [name, []]));
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const name of turn % 2 === 0 ? names : names.toReversed()) {
      const { call, before, after } = competitors[name];
      const warmUpMs = turn === 0 ? options.warmUpMs + options.turnWarmUpMs : options.turnWarmUpMs;
      await before?.();
      const figures = await closedLoop({ concurrency: options.concurrency, warmUpMs, measureMs: options.turnMs, call });
      turns.get(name)?.push(figures);
      await after?.();
    }
  }
  return Object.fromEntries(Array.from(turns, ([name, figures]) => [name, means(figures)])) as Record<Name, Figures>;
}

function means(turns: readonly Figures[]): Figures {
  const mean = (value: (figures: Figures) => number): number =>
    turns.reduce((sum, figures) => sum + value(figures), 0) / turns.length;
  return {
    perSecond: mean(({ perSecond }) => perSecond),
    p50Ms: mean(({ p50Ms }) => p50Ms),
    p99Ms: mean(({ p99Ms }) => p99Ms),
    count: turns.reduce((sum, { count }) => sum + count, 0),
  };
}
