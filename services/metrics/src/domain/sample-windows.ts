import { assert, assertDefined } from "@kapi/kernel";

import { frameHeaderBytes, writeFrameHeader } from "./websocket-frame.ts";

/**
 * The latest samples of every account, in memory (decisions, 10.2), limited by number, age and a
 * memory budget. Each account always keeps its newest sample.
 *
 * Samples of all accounts are stored in slabs of raw memory in log order, each with its WebSocket
 * frame header. A window has only the addresses of its samples. So a sample costs its bytes, 40
 * bytes before them and an address of 8 bytes, but no object. Above the budget the oldest slabs
 * are freed as a whole, so that every account keeps the same period. Before a slab is freed, each
 * sample in it that is the newest of its account is copied to the newest slab.
 *
 * Invariants: the samples kept of an account are consecutive, [first, last]; all their addresses
 * are in existing slabs; a slab without kept samples is freed at once, unless it is the newest.
 */

/**
 * The fields before each frame, as doubles: id of the window, frame bytes, time, from, offset. A
 * record is these fields and the frame.
 */
const RECORD_FIELDS = 5;
const RECORD_BYTES = RECORD_FIELDS * 8;
const INITIAL_ADDRESSES = 4;
/**
 * Maximum number of slabs that are freed when a new one is added. The accounts' newest samples in a
 * freed slab move to the newest slab. If they fill it, another slab is added. So one freed slab is
 * not always enough.
 */
const MAX_FREED_PER_NEW_SLAB = 4;

/** The limits of the windows of a process. */
export interface WindowLimits {
  /** Maximum number of samples kept of an account. */
  readonly maxSamples: number;
  /** Maximum age of a kept sample, except the newest. */
  readonly maxAgeMs: number;
  /**
   * Memory for all samples; exceeded by a few slabs, and by more only if the accounts' newest
   * samples need more.
   */
  readonly budgetBytes: number;
  /** Size of the pieces in which memory is allocated and freed. */
  readonly slabBytes: number;
}

/** A sample with its position in the log. */
export interface LoggedSample {
  readonly sequence: number;
  /** Header `from` of the Kafka record: position of the last valuation in the previous sample. */
  readonly from: number;
  /** Position in `metrics.samples`. */
  readonly offset: number;
  /** Time of the Kafka record. */
  readonly atMs: number;
  /** The frame, without its WebSocket header. */
  readonly payload: Buffer;
}

/**
 * The kept samples of one account. {@link SampleWindows.open} creates a window, and only
 * {@link SampleWindows} changes it.
 */
export interface SampleWindow {
  /** Lowest sequence kept; `last + 1` when nothing is kept. */
  readonly first: number;
  /** Highest sequence kept; 0 before the first sample. */
  readonly last: number;
}

class Window implements SampleWindow {
  readonly id: number;
  first = 1;
  last = 0;
  /**
   * The address of each sample, at index sequence modulo length: the slab's id times the size of a
   * slab, plus the sample's offset in its slab.
   */
  addresses = new Float64Array(INITIAL_ADDRESSES);

  constructor(id: number) {
    this.id = id;
  }
}

class Slab {
  readonly id: number;
  readonly bytes: Buffer;
  readonly fields: Float64Array;
  used = 0;
  /** Number of samples in this slab that windows keep. */
  kept = 0;
  writtenAtMs = 0;

  constructor(id: number, size: number) {
    this.id = id;
    const memory = new ArrayBuffer(size);
    this.bytes = Buffer.from(memory);
    this.fields = new Float64Array(memory);
  }
}

/** The windows of all accounts of this process. */
export class SampleWindows {
  readonly #limits: WindowLimits;
  readonly #slabs = new Map<number, Slab>();
  readonly #windows: (Window | undefined)[] = [];
  readonly #freeIds: number[] = [];
  #newest: Slab;
  #nextSlabId = 1;
  #makingRoom = false;

  constructor(limits: WindowLimits) {
    assert(limits.slabBytes % 8 === 0, "the size of a slab is not a whole number of doubles");
    this.#limits = limits;
    this.#newest = this.#addSlab();
  }

  /** Maximum age of a kept sample, except the newest. */
  get maxAgeMs(): number {
    return this.#limits.maxAgeMs;
  }

  /** Bytes held for samples. */
  get bytes(): number {
    return this.#slabs.size * this.#limits.slabBytes;
  }

  /** Creates an empty window. */
  open(): SampleWindow {
    const id = this.#freeIds.pop() ?? this.#windows.length;
    const window = new Window(id);
    this.#windows[id] = window;
    return window;
  }

  /** Frees a window and all its samples. */
  close(given: SampleWindow): void {
    const window = owned(given);
    while (window.first <= window.last) this.#dropFirst(window);
    this.#windows[window.id] = undefined;
    this.#freeIds.push(window.id);
  }

  /** Adds a sample. If its sequence is not `last + 1`, all kept samples are dropped first. */
  append(given: SampleWindow, sample: LoggedSample, nowMs: number): void {
    const window = owned(given);
    if (sample.sequence !== window.last + 1) {
      while (window.first <= window.last) this.#dropFirst(window);
      window.first = sample.sequence;
      window.last = sample.sequence - 1;
    }
    if (sample.sequence - window.first >= this.#limits.maxSamples) this.#dropFirst(window);
    const { payload } = sample;
    const headerBytes = frameHeaderBytes(payload.length);
    const { slab, at } = this.#reserve(headerBytes + payload.length, nowMs);
    // Field by field: a list would allocate one more object per sample.
    const { fields } = slab;
    const field = at / 8;
    fields[field] = window.id;
    fields[field + 1] = headerBytes + payload.length;
    fields[field + 2] = sample.atMs;
    fields[field + 3] = sample.from;
    fields[field + 4] = sample.offset;
    const start = at + RECORD_BYTES;
    writeFrameHeader(slab.bytes, start, payload.length);
    slab.bytes.set(payload, start + headerBytes);
    window.last = sample.sequence;
    this.#setAddress(window, sample.sequence, slab, at);
  }

  /** Drops samples that are too old at `nowMs`, except the newest. */
  trim(given: SampleWindow, nowMs: number): void {
    const window = owned(given);
    const oldestMs = nowMs - this.#limits.maxAgeMs;
    while (window.first < window.last) {
      const { slab, at } = this.#find(window, window.first);
      if ((slab.fields[at / 8 + 2] ?? 0) >= oldestMs) return;
      this.#dropFirst(window);
    }
  }

  /** Frees the memory of samples that are too old at `nowMs`; called every few seconds. */
  expire(nowMs: number): void {
    for (const slab of this.#slabs.values()) {
      if (slab === this.#newest || slab.writtenAtMs > nowMs - this.#limits.maxAgeMs) return;
      this.#freeSlab(slab, nowMs);
    }
  }

  /**
   * Returns the frames from `fromSequence` on, ready for a socket: as many frames as fit into
   * `maxBytes`, but at least one. `next` is the sequence after them. `fromSequence` must be kept.
   */
  frames(given: SampleWindow, fromSequence: number, maxBytes: number): { bytes: Buffer; next: number } {
    return this.#copy(owned(given), fromSequence, maxBytes, RECORD_BYTES);
  }

  /** Like {@link frames}, but returns records, for {@link readRecords}. */
  records(given: SampleWindow, fromSequence: number, maxBytes: number): { bytes: Buffer; next: number } {
    return this.#copy(owned(given), fromSequence, maxBytes, 0);
  }

  /** Returns a kept sample; its payload is a copy. */
  sample(given: SampleWindow, sequence: number): LoggedSample {
    const { slab, at } = this.#find(owned(given), sequence);
    const field = at / 8;
    const start = at + RECORD_BYTES;
    const end = start + (slab.fields[field + 1] ?? 0);
    return {
      sequence,
      atMs: slab.fields[field + 2] ?? 0,
      from: slab.fields[field + 3] ?? 0,
      offset: slab.fields[field + 4] ?? 0,
      payload: Buffer.from(slab.bytes.subarray(start + headerBytesAt(slab.bytes, start), end)),
    };
  }

  /** Copies records, without the first `skipped` bytes of each. */
  #copy(window: Window, fromSequence: number, maxBytes: number, skipped: number): { bytes: Buffer; next: number } {
    let total = 0;
    let next = fromSequence;
    while (next <= window.last) {
      const { slab, at } = this.#find(window, next);
      const length = RECORD_BYTES + (slab.fields[at / 8 + 1] ?? 0) - skipped;
      if (total > 0 && total + length > maxBytes) break;
      total += length;
      next += 1;
    }
    const bytes = Buffer.allocUnsafe(total);
    let written = 0;
    for (let sequence = fromSequence; sequence < next; sequence += 1) {
      const { slab, at } = this.#find(window, sequence);
      const end = at + RECORD_BYTES + (slab.fields[at / 8 + 1] ?? 0);
      written += slab.bytes.copy(bytes, written, at + skipped, end);
    }
    return { bytes, next };
  }

  #reserve(frameBytes: number, nowMs: number): { slab: Slab; at: number } {
    const needed = Math.ceil((RECORD_BYTES + frameBytes) / 8) * 8;
    assert(needed <= this.#limits.slabBytes, "a sample is larger than a slab");
    if (this.#newest.used + needed > this.#limits.slabBytes) {
      const full = this.#newest;
      this.#newest = this.#addSlab();
      if (full.kept === 0) this.#slabs.delete(full.id);
      this.#makeRoom(nowMs);
      // #makeRoom may have filled the new slab with newest samples of accounts.
      if (this.#newest.used + needed > this.#limits.slabBytes) this.#newest = this.#addSlab();
    }
    const slab = this.#newest;
    const at = slab.used;
    slab.used += needed;
    slab.writtenAtMs = nowMs;
    return { slab, at };
  }

  /**
   * Frees the oldest slabs when a new one is added above the budget. The newest samples of accounts
   * move from the oldest slab to the newest slab. When the newest slab is full, a slab is added.
   */
  #makeRoom(nowMs: number): void {
    if (this.#makingRoom) return;
    for (let freed = 0; freed < MAX_FREED_PER_NEW_SLAB && this.bytes > this.#limits.budgetBytes; freed += 1) {
      const [oldest] = this.#slabs.values();
      if (oldest === undefined || oldest === this.#newest) return;
      this.#freeSlab(oldest, nowMs);
    }
  }

  #freeSlab(slab: Slab, nowMs: number): void {
    this.#makingRoom = true;
    for (let at = 0; at < slab.used && slab.kept > 0; at += this.#recordBytes(slab, at)) {
      const window = this.#windows[slab.fields[at / 8] ?? -1];
      if (window === undefined) continue;
      if (window.last >= window.first && this.#isAt(window, window.last, slab, at))
        this.#moveLast(window, slab, at, nowMs);
      else this.#dropUpTo(window, slab, at);
    }
    this.#slabs.delete(slab.id);
    this.#makingRoom = false;
  }

  #moveLast(window: Window, from: Slab, at: number, nowMs: number): void {
    while (window.first < window.last) this.#dropFirst(window);
    const length = from.fields[at / 8 + 1] ?? 0;
    const target = this.#reserve(length, nowMs);
    const end = at + RECORD_BYTES + length;
    from.bytes.copy(target.slab.bytes, target.at, at, end);
    from.kept -= 1;
    this.#setAddress(window, window.last, target.slab, target.at);
  }

  /** Drops the window's samples up to this address. Does nothing if all kept samples are later. */
  #dropUpTo(window: Window, slab: Slab, at: number): void {
    for (let sequence = window.first; sequence <= window.last; sequence += 1) {
      const address = this.#addressOf(window, sequence);
      // Later samples have higher addresses. #moveLast keeps this order: it moves a sample to the
      // newest slab only after it has dropped all other samples of the window.
      if (address > slab.id * this.#limits.slabBytes + at) return;
      this.#dropFirst(window);
    }
  }

  #dropFirst(window: Window): void {
    const { slab } = this.#find(window, window.first);
    slab.kept -= 1;
    window.first += 1;
    if (slab.kept === 0 && slab !== this.#newest && !this.#makingRoom) this.#slabs.delete(slab.id);
  }

  #addSlab(): Slab {
    const slab = new Slab(this.#nextSlabId++, this.#limits.slabBytes);
    this.#slabs.set(slab.id, slab);
    return slab;
  }

  #recordBytes(slab: Slab, at: number): number {
    return Math.ceil((RECORD_BYTES + (slab.fields[at / 8 + 1] ?? 0)) / 8) * 8;
  }

  #addressOf(window: Window, sequence: number): number {
    return window.addresses[sequence % window.addresses.length] ?? 0;
  }

  #isAt(window: Window, sequence: number, slab: Slab, at: number): boolean {
    return this.#addressOf(window, sequence) === slab.id * this.#limits.slabBytes + at;
  }

  #find(window: Window, sequence: number): { slab: Slab; at: number } {
    assert(sequence >= window.first && sequence <= window.last, "a sample is not kept");
    const address = this.#addressOf(window, sequence);
    const at = address % this.#limits.slabBytes;
    return {
      slab: assertDefined(this.#slabs.get((address - at) / this.#limits.slabBytes), "the slab of a sample"),
      at,
    };
  }

  #setAddress(window: Window, sequence: number, slab: Slab, at: number): void {
    if (window.last - window.first >= window.addresses.length) this.#growAddresses(window);
    window.addresses[sequence % window.addresses.length] = slab.id * this.#limits.slabBytes + at;
    slab.kept += 1;
  }

  #growAddresses(window: Window): void {
    const before = window.addresses;
    const addresses = new Float64Array(Math.min(before.length * 4, this.#limits.maxSamples));
    for (let sequence = window.first; sequence < window.last; sequence += 1) {
      addresses[sequence % addresses.length] = before[sequence % before.length] ?? 0;
    }
    window.addresses = addresses;
  }
}

/**
 * Yields the samples in `bytes`, which {@link SampleWindows.records} returned from sequence `from`
 * on. Their payloads are parts of `bytes`. Numbers are little-endian, as on every machine that runs
 * kapi.
 */
export function* readRecords(bytes: Buffer, from: number): Generator<LoggedSample> {
  let sequence = from;
  for (let at = 0; at < bytes.length;) {
    const end = at + RECORD_BYTES + bytes.readDoubleLE(at + 8);
    assert(end > at + RECORD_BYTES && end <= bytes.length, "a record is cut off");
    yield {
      sequence,
      atMs: bytes.readDoubleLE(at + 16),
      from: bytes.readDoubleLE(at + 24),
      offset: bytes.readDoubleLE(at + 32),
      payload: bytes.subarray(at + RECORD_BYTES + headerBytesAt(bytes, at + RECORD_BYTES), end),
    };
    sequence += 1;
    at = end;
  }
}

/** Number of bytes of the frame header at `start`. */
function headerBytesAt(bytes: Buffer, start: number): number {
  const length7 = (bytes[start + 1] ?? 0) & 0x7f;
  return length7 < 126 ? 2 : length7 === 126 ? 4 : 10;
}

function owned(window: SampleWindow): Window {
  assert(window instanceof Window, "the window was not created by SampleWindows");
  return window;
}
