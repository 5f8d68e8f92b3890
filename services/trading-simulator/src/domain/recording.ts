/**
 * Recorded quotes: parses CSV, and finds the quotes that are due after a step of recorded time.
 */

/** Quotes of one symbol, ordered by time: parallel arrays. */
export interface Recording {
  readonly symbol: string;
  readonly timesMs: readonly number[];
  readonly bids: readonly number[];
  readonly asks: readonly number[];
}

const TICK_HEADER = "time,bid,ask";
const BAR_HEADER = "time,bidOpen,bidHigh,bidLow,bidClose,askOpen,askHigh,askLow,askClose";
/** A bar of a minute is played as four quotes with this interval. */
const BAR_QUOTE_STEP_MS = 15_000;
/** Recorded time between the last quote of a round and the first quote of the next round. */
const ROUND_GAP_MS = 1_000;

/**
 * Parses ticks (`time,bid,ask`) and one-minute bars (`time,bidOpen…askClose`). A bar becomes four
 * quotes: open, low and high, close. The high comes first if the bar falls.
 * @throws RangeError that names the line.
 */
export function parseRecording(symbol: string, csv: string): Recording {
  const [header = "", ...lines] = csv.split(/\r?\n/);
  const columns = header.trim().replace(/^\uFEFF/, "");
  if (columns !== TICK_HEADER && columns !== BAR_HEADER) {
    throw new RangeError(`line 1: the header is neither "${TICK_HEADER}" nor "${BAR_HEADER}"`);
  }
  const prices = columns === TICK_HEADER ? 2 : 8;
  const rows: Quoted[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const [time = "", ...cells] = line.split(",");
    const atMs = Date.parse(time);
    const values = cells.map(Number);
    if (Number.isNaN(atMs) || values.length !== prices || values.some((value) => !(value > 0))) {
      throw new RangeError(`line ${index + 2}: must be a time and ${prices} prices above 0`);
    }
    if (columns === TICK_HEADER) rows.push([atMs, values[0] ?? 0, values[1] ?? 0]);
    else rows.push(...quotesOfBar(atMs, values));
  }
  if (rows.length === 0) throw new RangeError("line 2: there are no quotes");
  rows.sort((a, b) => a[0] - b[0]);
  return {
    symbol,
    timesMs: rows.map((row) => row[0]),
    bids: rows.map((row) => row[1]),
    asks: rows.map((row) => row[2]),
  };
}

/** Symbol at the beginning of a file name, such as `EURUSD-ticks-2020-01.csv`; null: unknown. */
export function symbolOfFile(path: string, known: ReadonlyMap<string, unknown>): string | null {
  const name = path.split(/[\\/]/).at(-1) ?? "";
  const symbol = /^[A-Za-z0-9]+/.exec(name)?.[0].toUpperCase() ?? "";
  return known.has(symbol) ? symbol : null;
}

/** Position of a market in its recording. */
export interface RecordingPosition {
  /** Index of the next quote. */
  next: number;
  /** Recorded milliseconds since the first quote, over all rounds. */
  elapsedMs: number;
  /** Completed rounds. */
  round: number;
}

/** Duration of one round, in recorded milliseconds. */
export function roundMs(recording: Recording): number {
  return (recording.timesMs.at(-1) ?? 0) - (recording.timesMs[0] ?? 0) + ROUND_GAP_MS;
}

/**
 * Advances by `stepMs` of recorded time. Returns the indexes of due quotes, at most `limit`. If
 * more are due, the recorded time stops at the first quote that is not returned. After its last
 * quote the recording starts again.
 */
export function advance(recording: Recording, position: RecordingPosition, stepMs: number, limit: number): number[] {
  const due: number[] = [];
  const target = position.elapsedMs + stepMs;
  const dueAt = (): number =>
    position.round * roundMs(recording) + (recording.timesMs[position.next] ?? 0) - (recording.timesMs[0] ?? 0);
  while (dueAt() <= target) {
    if (due.length === limit) {
      position.elapsedMs = Math.max(position.elapsedMs, Math.min(target, dueAt()));
      return due;
    }
    due.push(position.next);
    position.next += 1;
    if (position.next === recording.timesMs.length) {
      position.next = 0;
      position.round += 1;
    }
  }
  position.elapsedMs = target;
  return due;
}

type Quoted = readonly [atMs: number, bid: number, ask: number];

function quotesOfBar(atMs: number, values: readonly number[]): Quoted[] {
  const [bidOpen = 0, bidHigh = 0, bidLow = 0, bidClose = 0, askOpen = 0, askHigh = 0, askLow = 0, askClose = 0] =
    values;
  const high: [number, number] = [bidHigh, askHigh];
  const low: [number, number] = [bidLow, askLow];
  const extremes = bidClose >= bidOpen ? [low, high] : [high, low];
  const path: [number, number][] = [[bidOpen, askOpen], ...extremes, [bidClose, askClose]];
  return path.map(([bid, ask], index) => [atMs + index * BAR_QUOTE_STEP_MS, bid, ask]);
}
