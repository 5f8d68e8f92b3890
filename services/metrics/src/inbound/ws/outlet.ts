import type { Writable } from "node:stream";

/**
 * What goes out of one socket. Frames pushed in one turn leave in one write. The bytes go to the
 * raw socket, beside the few that `ws` writes itself (pong, close): both write whole frames at once
 * and in order, since nothing is compressed.
 *
 * It holds no queue of samples: while more than the limit waits for the network it is stalled,
 * nothing more is pushed, and `onDrain` tells when to go on.
 */
export class Outlet {
  readonly #socket: Writable;
  readonly #maxBufferedBytes: number;
  readonly #isOpen: () => boolean;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #scheduled = false;
  #stalledSinceMs: number | null = null;

  constructor(options: {
    readonly socket: Writable;
    readonly maxBufferedBytes: number;
    /** Whether frames may still be written: nothing may follow a close frame. */
    readonly isOpen: () => boolean;
    /** Called when everything has gone out after a stall. */
    readonly onDrain: () => void;
  }) {
    this.#socket = options.socket;
    this.#maxBufferedBytes = options.maxBufferedBytes;
    this.#isOpen = options.isOpen;
    this.#socket.on("drain", () => {
      if (this.#stalledSinceMs === null) return;
      this.#stalledSinceMs = null;
      options.onDrain();
    });
  }

  /** Since when nothing more is taken, or null. */
  get stalledSinceMs(): number | null {
    return this.#stalledSinceMs;
  }

  /** Bytes that wait in this process for the network. */
  get bufferedBytes(): number {
    return this.#socket.writableLength + this.#pendingBytes;
  }

  /**
   * Whether a frame may be pushed now. Once it may not, the outlet is stalled until it has drained.
   */
  hasRoom(nowMs: number): boolean {
    if (this.#stalledSinceMs !== null) return false;
    if (this.bufferedBytes <= this.#maxBufferedBytes) return true;
    this.#stalledSinceMs = nowMs;
    this.#schedule();
    return false;
  }

  /**
   * Adds a whole frame, or several behind one another; written at the end of the turn, or by
   * `flush`.
   */
  push(frames: Buffer): void {
    this.#pending.push(frames);
    this.#pendingBytes += frames.length;
    this.#schedule();
  }

  /** Writes what was pushed, in one write. */
  flush(): void {
    const pending = this.#pending;
    const [first] = pending;
    if (first === undefined) return;
    this.#pending = [];
    this.#pendingBytes = 0;
    if (!this.#isOpen()) return;
    if (pending.length === 1) {
      this.#socket.write(first);
      return;
    }
    this.#socket.cork();
    for (const frames of pending) this.#socket.write(frames);
    this.#socket.uncork();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.flush();
    });
  }
}
