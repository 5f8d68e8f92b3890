import { type AccountMetricsFrame, LIVE_METRICS_PATH, type ReplayFrame } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import { WebSocket } from "ws";

import { Delays } from "./delays.ts";
import type { RandomSource } from "./random-source.ts";
import type { Violations } from "./violations.ts";
import { StreamPosition } from "./stream-position.ts";
import type { SampleLedger } from "./sample-ledger.ts";

const CONNECT_TIMEOUT_MS = 5_000;
/** Range of the random pause after a connection that the server rejected or closed. */
const BACK_OFF_MS = { min: 20, max: 300 } as const;
/** Maximum of the usual pause between a cut by the client and its next connection. */
const SHORT_ABSENCE_MS = 300;
/** Probability of a pause of up to {@link MIDDLE_ABSENCE_MS} instead. */
const MIDDLE_ABSENCES = 0.3;
const MIDDLE_ABSENCE_MS = 3_000;

/**
 * Close codes that are no violation: the process stopped (1012), died or did not answer (1006), or
 * closed the connection of a client that does not read (4408).
 */
const EXPECTED_CLOSES = new Set([1006, 1012, 4408]);

export interface CheckerOptions {
  readonly name: string;
  readonly managementKey: string;
  readonly serverId: string;
  readonly accounts: readonly string[];
  /** Returns the base address of the stream process to connect to next. */
  readonly address: () => string;
  readonly violations: Violations;
  readonly ledger: SampleLedger;
  readonly random: RandomSource;
  /** Mean time from the start of a connection until the client cuts it. By default, no cuts. */
  readonly meanCutMs?: number;
  /** Called for every sample, live or replayed. */
  readonly onSample?: (sample: AccountMetricsFrame) => void;
  /** A longer pause after a cut, and its probability. */
  readonly longAbsence?: { readonly ms: number; readonly probability: number };
}

/** A replay notice that a client received. */
export interface SeenNotice {
  readonly accountNumber: string;
  /** The notice's first and last available sequence. */
  readonly first: number;
  readonly last: number;
  readonly atMs: number;
}

/** Counts of one client. */
export interface CheckerCounts {
  cuts: number;
  connections: number;
  samples: number;
  /** Subscriptions that started with a truncated replay, except those in `behind`. */
  truncated: number;
  /** Gaps announced in the middle of a stream. */
  gaps: number;
  /** Subscriptions whose notice has a last sequence below the client's last processed sequence. */
  behind: number;
  /** Connections that the client did not cut, by close code. 1006: no close frame arrived. */
  readonly closes: Map<number, number>;
}

/**
 * A client that verifies every message. The client subscribes to many accounts over one socket and
 * cuts the socket at random times. Then the client reconnects to any process with the last
 * processed sequence. Violations of the documented behaviour are reported.
 */
export class Checker {
  readonly counts: CheckerCounts = {
    cuts: 0,
    connections: 0,
    samples: 0,
    truncated: 0,
    gaps: 0,
    behind: 0,
    closes: new Map(),
  };
  readonly notices: SeenNotice[] = [];
  /** Delays of live samples, from measurement to arrival. A new object here starts a new count. */
  delays = new Delays();
  /** Whether the client cuts its socket at random times. */
  cutting = true;
  readonly #options: CheckerOptions;
  readonly #positions: ReadonlyMap<string, StreamPosition>;
  readonly #stopping = new AbortController();
  #socket: WebSocket | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(options: CheckerOptions) {
    this.#options = options;
    this.#positions = new Map(options.accounts.map((accountNumber) => [accountNumber, new StreamPosition()]));
  }

  get name(): string {
    return this.#options.name;
  }

  /** The accounts that the client subscribes to. */
  get accounts(): readonly string[] {
    return this.#options.accounts;
  }

  start(): void {
    this.#running = this.#live();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cut();
    await this.#running;
  }

  get isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** The sequence of the last sample of an account that the client processed. */
  processed(accountNumber: string): number {
    return this.#positions.get(accountNumber)?.processed ?? 0;
  }

  /** Whether the replay notice of every subscription has arrived. */
  get isSubscribed(): boolean {
    return this.#socket !== null && [...this.#positions.values()].every((position) => position.isOpen);
  }

  /** Stops reading, so that the network's buffers fill. */
  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  async #live(): Promise<void> {
    const { random } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const wasCut = await this.#connection();
      const awayMs = wasCut ? this.#absenceMs() : random.whole(BACK_OFF_MS.min, BACK_OFF_MS.max);
      await delay(awayMs, this.#stopping.signal);
    }
  }

  #absenceMs(): number {
    const { random, longAbsence } = this.#options;
    if (longAbsence !== undefined && random.happens(longAbsence.probability)) return longAbsence.ms;
    return random.whole(0, random.happens(MIDDLE_ABSENCES) ? MIDDLE_ABSENCE_MS : SHORT_ABSENCE_MS);
  }

  /** Runs one connection until it is closed. Resolves with whether the client cut it. */
  #connection(): Promise<boolean> {
    const { managementKey, address, random, meanCutMs } = this.#options;
    const headers = { authorization: `Management ${managementKey}` };
    const socket = new WebSocket(address() + LIVE_METRICS_PATH, { headers, handshakeTimeout: CONNECT_TIMEOUT_MS });
    this.#socket = socket;
    return new Promise((resolve) => {
      let cut: NodeJS.Timeout | undefined;
      // The timer starts before the handshake, so a cut can also interrupt the handshake or a
      // replay.
      const arm = (meanMs: number): void => {
        cut = setTimeout(() => {
          if (!this.cutting) return arm(meanMs);
          this.counts.cuts += 1;
          this.#cut();
        }, random.exponential(meanMs));
      };
      if (meanCutMs !== undefined) arm(meanCutMs);
      socket.on("error", () => undefined);
      socket.on("open", () => {
        this.counts.connections += 1;
      });
      socket.on("message", (data: Buffer) => {
        if (this.#socket === socket) this.#receive(socket, data);
      });
      socket.on("close", (code) => {
        clearTimeout(cut);
        const wasCut = this.#socket !== socket;
        if (!wasCut) this.#closed(code);
        this.#socket = null;
        resolve(wasCut);
      });
    });
  }

  #closed(code: number): void {
    this.counts.closes.set(code, (this.counts.closes.get(code) ?? 0) + 1);
    if (!EXPECTED_CLOSES.has(code)) this.#report(`the connection was closed with ${code}`);
  }

  /** Terminates the socket. Received and unprocessed messages are lost, as in a crash. */
  #cut(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.terminate();
  }

  #receive(socket: WebSocket, data: Buffer): void {
    const frame = JSON.parse(data.toString("utf8")) as
      | AccountMetricsFrame
      | ReplayFrame
      | { type: "connected" | "error" };
    if (frame.type === "account.metrics") this.#applySample(frame, data);
    else if (frame.type === "account.metrics.replay") this.#applyNotice(frame);
    else if (frame.type === "connected") this.#subscribe(socket);
    else this.#report(`unexpected: ${data.toString("utf8")}`);
  }

  #subscribe(socket: WebSocket): void {
    const { serverId } = this.#options;
    for (const [accountNumber, position] of this.#positions) {
      socket.send(JSON.stringify({ type: "subscribe", serverId, accountNumber, afterSequence: position.subscribe() }));
    }
  }

  #applyNotice(notice: ReplayFrame): void {
    const position = this.#position(notice.accountNumber);
    if (position === null) return;
    const opening = !position.isOpen;
    const { processed } = position;
    const fault = position.applyNotice(notice);
    if (fault !== null) this.#report(`${notice.accountNumber}: ${fault}`);
    const { firstAvailableSequence: first, lastAvailableSequence: last } = notice;
    if (!opening) this.counts.gaps += 1;
    else if (processed > last) this.counts.behind += 1;
    else if (notice.replayTruncated) this.counts.truncated += 1;
    this.notices.push({ accountNumber: notice.accountNumber, first, last, atMs: Date.now() });
  }

  #applySample(sample: AccountMetricsFrame, bytes: Buffer): void {
    const { ledger, name } = this.#options;
    const position = this.#position(sample.accountNumber);
    if (position === null) return;
    const { accountNumber, sequence } = sample;
    const fault = position.applySample(sequence);
    if (fault !== null) this.#report(`${accountNumber}: ${fault}`);
    ledger.record(accountNumber, sequence, bytes, name);
    this.counts.samples += 1;
    this.#options.onSample?.(sample);
    if (sequence > position.replayedUpTo) this.delays.add(Date.now() - Date.parse(sample.measuredAt));
  }

  #position(accountNumber: string): StreamPosition | null {
    const position = this.#positions.get(accountNumber);
    if (position === undefined) this.#report(`${accountNumber} was not subscribed to`);
    return position ?? null;
  }

  #report(what: string): void {
    this.#options.violations.add(`${this.#options.name}: ${what}`);
  }
}
