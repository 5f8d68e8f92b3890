/**
 * Competitors that are measured in turns: what changes slowly on a machine (its neighbours, its
 * caches, its clock) then meets all alike, and their ratio says something even where each figure by
 * itself does not.
 */
import { closedLoop, type Figures } from "./measure.ts";

/** What takes turns with others. */
export interface Competitor {
  /** One call; rejects where the answer was not the expected one. */
  readonly call: () => Promise<unknown>;
  /** Before each of its turns. */
  readonly before?: () => unknown;
  /** After each of its turns: what it left behind is not the next one's to carry. */
  readonly after?: () => unknown;
}

/** How turns are driven. */
export interface TurnOptions {
  readonly concurrency: number;
  /** Of each competitor, before its first turn. */
  readonly warmUpMs: number;
  readonly turnWarmUpMs: number;
  readonly turnMs: number;
}

/** Turns of each. */
const TURNS = 4;

/**
 * Measures `competitors` in turns, in their order and back, so that none has the earlier half;
 * gives the means of the turns of each.
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
