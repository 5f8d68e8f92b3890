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

/** How each turn is driven. */
export interface TurnOptions {
  readonly concurrency: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** Runs the turns in `order` and gives each rival's figures: the means of its turns. */
export async function takeTurns<Name extends string>(
  order: readonly Name[],
  rivals: Readonly<Record<Name, Rival>>,
  options: TurnOptions,
): Promise<Record<Name, Figures>> {
  const turns: { readonly name: Name; readonly figures: Figures }[] = [];
  for (const name of order) {
    const { call, before, after } = rivals[name];
    await before?.();
    turns.push({ name, figures: await closedLoop({ ...options, call }) });
    await after?.();
  }
  const names = Object.keys(rivals) as Name[];
  const own = (name: Name): Figures[] => turns.filter((turn) => turn.name === name).map(({ figures }) => figures);
  return Object.fromEntries(names.map((name) => [name, means(own(name))])) as Record<Name, Figures>;
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
