/** The lines of the chart of an account's equity: stored points, continued by live samples. */
import type { ConsoleEquityHistory, EquityPoint } from "../api/shapes.ts";
import type { Samples } from "./samples.ts";

/**
 * If two live samples are more than a second apart, the chart shows the equity as unchanged until
 * one second before the later sample.
 */
const STEP_MS = 1_000;
/**
 * A change of the equity is in the stored history after 90 seconds at most. So the history may lack
 * the changes of the last 90 seconds before the first live sample.
 */
const STORED_WITHIN_MS = 90_000;

/** The values at one time, in units of the account's currency. */
export interface EquityRow {
  readonly atMs: number;
  readonly equity: number;
  readonly balance: number;
  /** The lowest equity since the row before. */
  readonly lowest: number;
  /** The highest equity of the range up to this row. */
  readonly peak: number;
  /**
   * The deepest drawdown since the row before. `to` is an equity since that row. `from` is the
   * highest equity of the range before `to`, also in earlier rows.
   */
  readonly drawdown: EquityPoint["drawdown"];
}

/** The equity of a range in a few numbers, in units of the account's currency. */
export interface EquitySummary {
  readonly change: number;
  readonly lowest: number;
  readonly highest: number;
  readonly drawdown: EquityPoint["drawdown"];
}

/** An interval in which the equity changed. */
interface Segment extends Omit<EquityPoint, "startsAt" | "endsAt"> {
  readonly startMs: number;
  readonly endMs: number;
}

type StoredEquity = Pick<ConsoleEquityHistory, "before" | "points">;

/**
 * The rows of the chart from `startMs` to `endMs`, in order of time. There is no row before the
 * first known equity. Between segments, and after the last segment, the equity does not change.
 * `history` is null until the history is loaded.
 */
export function equityRows(
  history: StoredEquity | null,
  samples: Samples,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
): EquityRow[] {
  const segments = segmentsOf(history, samples);
  let current: { readonly equity: number; readonly balance: number } | null = history?.before ?? null;
  let peak = history?.before?.equity ?? Number.NEGATIVE_INFINITY;
  const rows: EquityRow[] = [];
  const addUnchanged = (atMs: number): void => {
    if (current === null || atMs <= (rows.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY)) return;
    const { equity, balance } = current;
    rows.push({ atMs, equity, balance, lowest: equity, peak, drawdown: { from: peak, to: equity } });
  };
  /**
   * Adds a row with unchanged equity at `untilMs`. If the newest row is more than one step older,
   * first adds a row one step after the newest row. Without this extra row, the chart would draw
   * the extremes of the newest row until `untilMs`.
   */
  const addPause = (untilMs: number): void => {
    const lastMs = rows.at(-1)?.atMs ?? untilMs;
    if (untilMs - lastMs > STEP_MS) addUnchanged(lastMs + STEP_MS);
    addUnchanged(untilMs);
  };
  for (const segment of segments) {
    const { endMs: atMs, equity, balance, lowest, drawdown } = segment;
    const isBefore = atMs <= startMs;
    if (!isBefore) {
      addUnchanged(startMs);
      if (segment.startMs > startMs) addPause(segment.startMs);
    }
    current = segment;
    peak = isBefore ? equity : Math.max(peak, segment.highest);
    if (isBefore) continue;
    // `drawdown.from` may lie before the range.
    rows.push({ atMs, equity, balance, lowest, peak, drawdown: { ...drawdown, from: Math.min(drawdown.from, peak) } });
  }
  addUnchanged(startMs);
  addPause(endMs);
  return rows;
}

/** The stored points, followed by the samples after the last stored minute. */
function segmentsOf(history: StoredEquity | null, samples: Samples): Segment[] {
  const stored = (history?.points ?? []).map(storedSegment);
  const before = history?.before ?? null;
  let peak = Math.max(before?.equity ?? Number.NEGATIVE_INFINITY, ...stored.map(({ highest }) => highest));
  let lastMs = stored.at(-1)?.endMs ?? (before === null ? Number.NEGATIVE_INFINITY : Date.parse(before.measuredAt));
  const live: Segment[] = [];
  for (const [index, { measuredAt, equity, balance, intervalMinimumEquity }] of samples.entries()) {
    const atMs = Date.parse(measuredAt);
    if (atMs < lastMs) continue;
    const lowest = Math.min(equity, intervalMinimumEquity);
    const drawdown = peak > lowest ? { from: peak, to: lowest } : { from: equity, to: equity };
    const startMs = Math.max(lastMs, atMs - (index === 0 ? STORED_WITHIN_MS : STEP_MS));
    live.push({ startMs, endMs: atMs, equity, balance, lowest, highest: equity, drawdown });
    peak = Math.max(peak, equity);
    lastMs = atMs;
  }
  return [...stored, ...live];
}

function storedSegment({ startsAt, endsAt, ...values }: EquityPoint): Segment {
  return { ...values, startMs: Date.parse(startsAt), endMs: Date.parse(endsAt) };
}

/** The summary of the rows; null if there are none. */
export function summaryOf(rows: readonly EquityRow[]): EquitySummary | null {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return null;
  const depth = ({ drawdown: { from, to } }: EquityRow): number => from - to;
  return {
    change: last.equity - first.equity,
    lowest: Math.min(...rows.map(({ lowest }) => lowest)),
    highest: last.peak,
    drawdown: rows.reduce((deepest, row) => (depth(row) > depth(deepest) ? row : deepest)).drawdown,
  };
}
