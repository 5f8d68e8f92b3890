import { delay } from "@kapi/kernel";

import type { Checker } from "./checker.ts";
import { Delays } from "./delays.ts";
import type { FleetMember, LiveLoad } from "./fleet.ts";

const POLL_INTERVAL_MS = 100;
/** Time limit for filling the buffers of the network and the server. */
const FILL_TIMEOUT_MS = 60_000;
/** Margin after the stuck timeout, because the server checks once a second for stuck sockets. */
const CLOSE_MARGIN_MS = 3_000;
const CLOSED_TIMEOUT_MS = 30_000;
const SLOW_CONSUMER = 4408;

export interface SlowReaderOptions {
  /** The process that serves all clients, and its STUCK_TIMEOUT_MS. */
  readonly stream: FleetMember;
  readonly stuckTimeoutMs: number;
  /** Clients that never stop reading. */
  readonly others: readonly Checker[];
  /** A client that stops reading for at least `lateMs` and then resumes. */
  readonly late: Checker;
  readonly lateMs: number;
  /**
   * A client that stops reading for at least `stuckMs`, and at least until the server must have
   * closed its socket.
   */
  readonly stuck: Checker;
  readonly stuckMs: number;
  /** Duration of the control measurement, while all clients read. */
  readonly controlMs: number;
  /** Called and awaited when both sockets are full. */
  readonly onStalled?: () => Promise<void>;
}

/** The measurements of a period. */
export interface Measurements {
  /** Delays of samples from `measuredAt` to arrival, at the clients that never stop reading. */
  readonly delays: Delays;
  /** Maximum resident memory of the process; null if the system does not report it. */
  readonly residentBytes: number | null;
  /** Maximum number of bytes that the process buffered for one socket. */
  readonly mostBufferedBytes: number;
}

export interface SlowReaderFigures {
  readonly control: Measurements;
  /** The period with at least one client that does not read. */
  readonly slow: Measurements;
  /** Time after both clients stopped reading until both sockets were stalled. */
  readonly filledMs: number;
}

/**
 * Two clients of a process stop reading: one for some time, one until the server closes its socket.
 * Both subscribe to all accounts. Returns the measurements of this time, and of a control time
 * before it. Throws if the sockets do not fill, or if the server does not close the second socket.
 */
export async function slowReaders(options: SlowReaderOptions): Promise<SlowReaderFigures> {
  const { stream, others, late, stuck } = options;
  const control = await measure(stream, others, () => delay(options.controlMs));
  let filledMs = 0;
  const slow = await measure(stream, others, async () => {
    const pausedMs = Date.now();
    late.pause();
    stuck.pause();
    while (((await loadOf(stream))?.stalled ?? 0) < 2) {
      if (Date.now() - pausedMs > FILL_TIMEOUT_MS)
        throw new Error(`the sockets are not full after ${FILL_TIMEOUT_MS} ms`);
      await delay(POLL_INTERVAL_MS);
    }
    const stalledMs = Date.now();
    filledMs = stalledMs - pausedMs;
    await options.onStalled?.();
    await until(pausedMs + options.lateMs);
    late.resume();
    await until(Math.max(pausedMs + options.stuckMs, stalledMs + options.stuckTimeoutMs + CLOSE_MARGIN_MS));
    stuck.resume();
  });
  const endMs = Date.now() + CLOSED_TIMEOUT_MS;
  while (!stuck.counts.closes.has(SLOW_CONSUMER)) {
    if (Date.now() > endMs) throw new Error("the stuck reader was not closed with 4408");
    await delay(POLL_INTERVAL_MS);
  }
  return { control, slow, filledMs };
}

function until(atMs: number): Promise<void> {
  return delay(Math.max(0, atMs - Date.now()));
}

/** Returns null after a failed request, which a busy machine can cause. The caller retries. */
function loadOf(stream: FleetMember): Promise<LiveLoad | null> {
  return stream.load().catch(() => null);
}

async function measure(
  stream: FleetMember,
  others: readonly Checker[],
  work: () => Promise<void>,
): Promise<Measurements> {
  const delays = new Delays();
  for (const other of others) other.delays = delays;
  const ended = new AbortController();
  let resident = stream.residentBytes();
  let most = 0;
  const watching = (async () => {
    while (!ended.signal.aborted) {
      most = Math.max(most, (await loadOf(stream))?.mostBufferedBytes ?? 0);
      const now = stream.residentBytes();
      if (resident !== null && now !== null) resident = Math.max(resident, now);
      await delay(POLL_INTERVAL_MS, ended.signal);
    }
  })();
  try {
    await work();
  } finally {
    ended.abort();
    await watching;
  }
  for (const other of others) other.delays = new Delays();
  return { delays, residentBytes: resident, mostBufferedBytes: most };
}
