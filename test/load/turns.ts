/**
 * Rivals that are measured in turns: what changes slowly on a machine (its neighbours, its caches, its clock) then meets all
 * alike, and their ratio says something even where each figure by itself does not.
 */
import { closedLoop, type Figures } from "./measure.ts";

/** What takes turns with others. */
export interface Rival {
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
  /** Of each rival, before its first turn. */
  readonly warmUpMs: number;
  readonly turnWarmUpMs: number;
  readonly turnMs: number;
}

/** So that neither has the earlier half. */
const ORDER = ["one", "other", "other", "one", "one", "other", "other", "one"] as const;

/** Measures `one` and `other` in turns; gives the means of the turns of each. */
export async function takeTurns(
  one: Rival,
  other: Rival,
  options: TurnOptions,
): Promise<{ one: Figures; other: Figures }> {
  const rivals = { one, other };
  const turns = { one: [] as Figures[], other: [] as Figures[] };
  for (const name of ORDER) {
    const { call, before, after } = rivals[name];
    const warmUpMs = turns[name].length === 0 ? options.warmUpMs + options.turnWarmUpMs : options.turnWarmUpMs;
    await before?.();
    turns[name].push(await closedLoop({ concurrency: options.concurrency, warmUpMs, measureMs: options.turnMs, call }));
    await after?.();
  }
  return { one: means(turns.one), other: means(turns.other) };
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
