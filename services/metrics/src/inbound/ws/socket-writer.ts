import type { Writable } from "node:stream";

/**
 * Writes frames to one socket. Frames pushed in one turn of the event loop share one write. They go
 * to the raw socket, as do the few frames that `ws` writes itself (ping, pong, close). Without
 * compression, `ws` and this class write only whole frames, so frames are never mixed.
 *
 * The writer has no queue of samples. Above the limit of unsent bytes the writer is stalled: the
 * caller pushes no samples until `onDrain`.
 */
export class SocketWriter {
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
    /** Called when the buffer has drained after a stall. */
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

  /** When the current stall began; null: not stalled. */
  get stalledSinceMs(): number | null {
    return this.#stalledSinceMs;
  }

  /** Unsent bytes. */
  get bufferedBytes(): number {
    return this.#socket.writableLength + this.#pendingBytes;
  }

  /** Whether samples may be pushed now. If not, the writer is stalled until it has drained. */
  hasRoom(nowMs: number): boolean {
    if (this.#stalledSinceMs !== null) return false;
    if (this.bufferedBytes <= this.#maxBufferedBytes) return true;
    this.#stalledSinceMs = nowMs;
    this.#schedule();
    return false;
  }

  /** Adds one or more whole frames, to be written at the end of the turn or by `flush`. */
  push(frames: Buffer): void {
    this.#pending.push(frames);
    this.#pendingBytes += frames.length;
    this.#schedule();
  }

  /** Writes the pushed frames, in one write; drops them if nothing may be written any more. */
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
