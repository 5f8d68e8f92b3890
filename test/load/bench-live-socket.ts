/**
 * A client of `bench -- live`: a minimal WebSocket on a raw TCP socket, so that clients need little
 * processor time. It counts frames, checks that no sequence is missing or repeated, and computes
 * latencies from `measuredAt`. It reads the bytes of samples without parsing JSON.
 */
import { randomBytes } from "node:crypto";
import net from "node:net";

const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const OPCODE = 0x0f;
const MASKED_TEXT = [0x81, 0x80] as const;
/** A pong without content, masked with zeros. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
const ZERO_MASK = Buffer.alloc(4);
const LENGTH_IN_16_BITS = 126;
const NOTHING = Buffer.alloc(0);
const END_OF_HEAD = "\r\n\r\n";
const READ_BYTES = 256 * 1_024;
const DAY_MS = 86_400_000;
const ZERO = 48;
const ANY_ID = "00000000-0000-0000-0000-000000000000";
/** Number of digits of every account number here. */
const ACCOUNT_DIGITS = 8;
const SAMPLE = '{"type":"account.metrics"';
const SAMPLE_ACCOUNT_AT = `${SAMPLE},"eventId":"${ANY_ID}","serverId":"${ANY_ID}","accountNumber":"`.length;
const SAMPLE_SEQUENCE_AT = SAMPLE_ACCOUNT_AT + ACCOUNT_DIGITS + '","sequence":'.length;
const AFTER_SEQUENCE = ',"measuredAt":"'.length;
const RAW_ACCOUNT_AT = `{"serverId":"${ANY_ID}","accountNumber":"`.length;
const RAW_TIME_AT = RAW_ACCOUNT_AT + ACCOUNT_DIGITS + '","measuredAt":"'.length;
const TIME_OF_DAY = "2026-01-01T".length;
/**
 * Position of the first byte that differs between a sample and a replay notice: after
 * `{"type":"account.metrics`.
 */
const KIND_AT = SAMPLE.length - 1;
const QUOTE = 34;
const DOT = 46;

/** Higher latencies count as this value. */
export const MAX_LATENCY_MS = 20_000;

/** The address and subscription of a socket. */
export interface SocketPlan {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /**
   * Null for a bare loop (`bench-live-bare.ts`), which sends raw valuations without a subscription.
   */
  readonly subscribe: { readonly serverId: string; readonly authorization: string } | null;
  /** The first of `accounts` consecutive account numbers. */
  readonly firstAccount: number;
  readonly accounts: number;
}

/** Counters of all sockets of a process. */
export class Seen {
  /** Samples since the last `mark`. */
  deliveries = 0;
  total = 0;
  /** Samples whose sequence is not the expected next one; must stay 0. */
  gaps = 0;
  /** Samples that notices announced as no longer available. */
  announced = 0;
  /** Subscriptions with at least one sample. */
  started = 0;
  /** Replays that have ended. */
  replayed = 0;
  closed = 0;
  errors = 0;
  latencies = new Uint32Array(MAX_LATENCY_MS + 1);

  mark(): void {
    this.deliveries = 0;
    this.latencies = new Uint32Array(MAX_LATENCY_MS + 1);
  }
}

const shared = Buffer.allocUnsafe(READ_BYTES);
/** The time of day in ms. The clock is read once for each chunk, not for each frame. */
let nowOfDayMs = 0;

/** One client socket. It adds what it receives to the counters of its process. */
export class BenchSocket {
  readonly #plan: SocketPlan;
  readonly #seen: Seen;
  /**
   * Last sequence of each account; -1 before its first sample. For a bare loop, 0 after the first
   * valuation.
   */
  readonly #last: Int32Array;
  /** Remaining samples of a replay, by account. */
  readonly #replaying: Int32Array;
  #socket: net.Socket | null = null;
  #upgraded: ((open: boolean) => void) | null = null;
  #rest: Buffer = NOTHING;

  constructor(plan: SocketPlan, seen: Seen) {
    this.#plan = plan;
    this.#seen = seen;
    this.#last = new Int32Array(plan.accounts).fill(-1);
    this.#replaying = new Int32Array(plan.accounts);
  }

  get isOpen(): boolean {
    return this.#socket !== null && this.#upgraded === null;
  }

  /** Connects. Resolves with true if the handshake was accepted. */
  open(): Promise<boolean> {
    const { host, port, path, subscribe } = this.#plan;
    this.#rest = NOTHING;
    return new Promise((resolve) => {
      this.#upgraded = resolve;
      const callback = (length: number): boolean => {
        nowOfDayMs = Date.now() % DAY_MS;
        this.#take(shared.subarray(0, length));
        return true;
      };
      const socket = net.connect({ host, port, noDelay: true, onread: { buffer: shared, callback } });
      this.#socket = socket;
      const authorization = subscribe === null ? [] : [`authorization: ${subscribe.authorization}`];
      const lines = [
        `GET ${path} HTTP/1.1`,
        `host: ${host}:${port}`,
        "connection: Upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        `sec-websocket-key: ${randomBytes(16).toString("base64")}`,
        ...authorization,
      ];
      socket.write(lines.join("\r\n") + END_OF_HEAD);
      socket.on("error", () => undefined);
      socket.once("close", () => this.#ended(socket));
    });
  }

  /**
   * Subscribes to all accounts of the socket. `afterSequence` of an account is its last received
   * sequence minus `back`. With null, the server sends only the latest sample, then new samples.
   */
  subscribe(back: number | null): void {
    const { subscribe, firstAccount, accounts } = this.#plan;
    if (subscribe === null) return;
    const frames: Buffer[] = [];
    for (let index = 0; index < accounts; index += 1) {
      const after = back === null ? {} : { afterSequence: Math.max(0, (this.#last[index] ?? 0) - back) };
      if (after.afterSequence !== undefined) this.#last[index] = after.afterSequence;
      const message = {
        type: "subscribe",
        serverId: subscribe.serverId,
        accountNumber: String(firstAccount + index),
        ...after,
      };
      frames.push(maskedText(JSON.stringify(message)));
    }
    this.#socket?.write(Buffer.concat(frames));
  }

  close(): void {
    this.#socket?.destroy();
  }

  #ended(socket: net.Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    if (this.#upgraded === null) this.#seen.closed += 1;
    this.#upgraded?.(false);
    this.#upgraded = null;
  }

  #take(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    if (this.#upgraded !== null) {
      const end = bytes.indexOf(END_OF_HEAD);
      if (end === -1) return this.#keep(bytes, 0);
      at = end + END_OF_HEAD.length;
      const open = bytes.subarray(0, end).includes(" 101 ");
      this.#upgraded(open);
      this.#upgraded = null;
      if (!open) {
        this.#seen.errors += 1;
        return this.close();
      }
    }
    this.#keep(bytes, this.#frames(bytes, at));
  }

  #keep(bytes: Buffer, at: number): void {
    this.#rest = at < bytes.length ? Buffer.from(bytes.subarray(at)) : NOTHING;
  }

  /** Processes complete frames. Returns the start of the first incomplete frame. */
  #frames(bytes: Buffer, begin: number): number {
    let at = begin;
    while (at + 4 <= bytes.length || (at + 2 <= bytes.length && (bytes[at + 1] ?? 0) < LENGTH_IN_16_BITS)) {
      const short = bytes[at + 1] ?? 0;
      const length = short === LENGTH_IN_16_BITS ? bytes.readUInt16BE(at + 2) : short;
      const start = at + (short === LENGTH_IN_16_BITS ? 4 : 2);
      if (short > LENGTH_IN_16_BITS) throw new Error("a frame has a 64-bit length, which the stream never sends");
      if (start + length > bytes.length) break;
      const opcode = (bytes[at] ?? 0) & OPCODE;
      if (opcode === TEXT) this.#text(bytes, start, length);
      else if (opcode === PING) this.#socket?.write(PONG);
      else if (opcode === CLOSE) this.close();
      at = start + length;
    }
    return at;
  }

  #text(bytes: Buffer, start: number, length: number): void {
    if (this.#plan.subscribe === null) return this.#raw(bytes, start);
    const kind = bytes[start + KIND_AT];
    if (kind === QUOTE) return this.#sample(bytes, start);
    const text = bytes.toString("utf8", start, start + length);
    if (kind === DOT) return this.#notice(text);
    if (!text.startsWith('{"type":"connected"')) {
      this.#seen.errors += 1;
      console.error(text);
    }
  }

  #raw(bytes: Buffer, start: number): void {
    const index = this.#accountAt(bytes, start + RAW_ACCOUNT_AT);
    if (this.#last[index] === -1) this.#seen.started += 1;
    this.#last[index] = 0;
    this.#count(bytes, start + RAW_TIME_AT);
  }

  #sample(bytes: Buffer, start: number): void {
    const index = this.#accountAt(bytes, start + SAMPLE_ACCOUNT_AT);
    let sequence = 0;
    let at = start + SAMPLE_SEQUENCE_AT;
    for (let digit = (bytes[at] ?? 0) - ZERO; digit >= 0 && digit <= 9; digit = (bytes[++at] ?? 0) - ZERO) {
      sequence = sequence * 10 + digit;
    }
    const last = this.#last[index] ?? -1;
    if (last === -1) this.#seen.started += 1;
    else if (sequence !== last + 1) this.#seen.gaps += 1;
    this.#last[index] = sequence;
    this.#count(bytes, at + AFTER_SEQUENCE);
    const replaying = this.#replaying[index] ?? 0;
    if (replaying === 0) return;
    this.#replaying[index] = replaying - 1;
    if (replaying === 1) this.#seen.replayed += 1;
  }

  #notice(text: string): void {
    const notice = JSON.parse(text) as {
      accountNumber: string;
      firstAvailableSequence: number;
      replayCount: number;
      replayTruncated: boolean;
    };
    const index = Number(notice.accountNumber) - this.#plan.firstAccount;
    if (notice.replayTruncated) {
      this.#seen.announced += notice.firstAvailableSequence - 1 - (this.#last[index] ?? 0);
      this.#last[index] = notice.firstAvailableSequence - 1;
    }
    this.#replaying[index] = notice.replayCount;
    if (notice.replayCount === 0) this.#seen.replayed += 1;
  }

  #accountAt(bytes: Buffer, at: number): number {
    return digits(bytes, at, ACCOUNT_DIGITS) - this.#plan.firstAccount;
  }

  #count(bytes: Buffer, timeAt: number): void {
    const at = timeAt + TIME_OF_DAY;
    const hours = digits(bytes, at, 2);
    const minutes = digits(bytes, at + 3, 2);
    const measuredMs = ((hours * 60 + minutes) * 60 + digits(bytes, at + 6, 2)) * 1_000 + digits(bytes, at + 9, 3);
    const latencyMs = (nowOfDayMs - measuredMs + DAY_MS) % DAY_MS;
    const slot = Math.min(latencyMs, MAX_LATENCY_MS);
    this.#seen.latencies[slot] = (this.#seen.latencies[slot] ?? 0) + 1;
    this.#seen.deliveries += 1;
    this.#seen.total += 1;
  }
}

function digits(bytes: Buffer, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index += 1) value = value * 10 + (bytes[index] ?? 0) - ZERO;
  return value;
}

function maskedText(text: string): Buffer {
  const payload = Buffer.from(text);
  const [first, masked] = MASKED_TEXT;
  const header =
    payload.length < LENGTH_IN_16_BITS
      ? Buffer.from([first, masked | payload.length])
      : Buffer.from([first, masked | LENGTH_IN_16_BITS, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([header, ZERO_MASK, payload]);
}
