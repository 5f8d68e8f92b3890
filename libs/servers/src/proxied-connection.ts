import type net from "node:net";

/** A direction with more held bytes than this stops reading until some bytes are delivered. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;

/** What a proxy does with its connections. */
export type ProxyMode = "pass" | "refuse" | "blackhole" | "drop replies";

/** A client's connection to a proxy and the proxy's connection to the server. */
export class ProxiedConnection {
  readonly #client: net.Socket;
  readonly #connect: () => net.Socket;
  #server: net.Socket | null = null;
  #directions: readonly Direction[] = [];
  #mode: ProxyMode = "pass";
  #delayMs = 0;
  /**
   * Replies were discarded, or one side has closed without a notice to the other side. The
   * connection must be reset.
   */
  #isBroken = false;
  #ended = false;
  readonly #listeners: (() => void)[] = [];

  /** `connect` is called as soon as the mode lets data through. */
  constructor(client: net.Socket, connect: () => net.Socket) {
    this.#client = client;
    this.#connect = connect;
    client.setNoDelay(true);
    client.pause();
    client.on("error", () => this.#sideClosed(client));
    client.on("close", () => this.#sideClosed(client));
  }

  /** Calls `listener` when both connections have been reset; every connection ends like this. */
  onEnd(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Changes the mode and the delay. A broken connection is reset when the mode becomes `pass`. */
  apply(mode: ProxyMode, delayMs: number): void {
    if (this.#ended) return;
    this.#mode = mode;
    this.#delayMs = delayMs;
    if (mode === "blackhole") {
      this.#client.pause();
      this.#server?.pause();
      return;
    }
    if (this.#isBroken && mode === "pass") return this.reset();
    this.#server ??= this.#join();
    for (const direction of this.#directions) direction.release();
  }

  /** Resets both connections (RST). */
  reset(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#client.resetAndDestroy();
    this.#server?.resetAndDestroy();
    for (const listener of this.#listeners) listener();
  }

  #join(): net.Socket {
    const server = this.#connect();
    server.setNoDelay(true);
    server.on("error", () => this.#sideClosed(server));
    server.on("close", () => this.#sideClosed(server));
    const toServer = new Direction(this.#client, server, () => this.#mode !== "blackhole");
    const toClient = new Direction(server, this.#client, () => this.#mode !== "blackhole");
    this.#client.on("data", (chunk) => toServer.send(chunk, this.#delayMs));
    server.on("data", (chunk) => {
      if (this.#mode === "drop replies") this.#isBroken = true;
      else toClient.send(chunk, this.#delayMs);
    });
    this.#directions = [toServer, toClient];
    this.#client.on("end", () => this.#sideEnded(toServer, false));
    server.on("end", () => this.#sideEnded(toClient, this.#mode === "drop replies"));
    return server;
  }

  #sideEnded(direction: Direction, isDropped: boolean): void {
    if (isDropped || this.#mode === "blackhole") this.#isBroken = true;
    else direction.end(this.#delayMs);
  }

  /**
   * While replies do not pass, the close of the server is hidden from the client. Any other close
   * resets both connections.
   */
  #sideClosed(side: net.Socket): void {
    if (this.#ended) return;
    const isHidden = this.#mode === "blackhole" || (this.#mode === "drop replies" && side === this.#server);
    if (isHidden && side === this.#server) {
      this.#isBroken = true;
      return;
    }
    this.reset();
  }
}

/**
 * One direction of a connection. Chunks are delivered in the order of their arrival, each after its
 * delay.
 */
class Direction {
  readonly #from: net.Socket;
  readonly #to: net.Socket;
  readonly #flows: () => boolean;
  readonly #held: { readonly chunk: Buffer | null; readonly dueMs: number }[] = [];
  #heldBytes = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(from: net.Socket, to: net.Socket, flows: () => boolean) {
    this.#from = from;
    this.#to = to;
    this.#flows = flows;
    to.on("drain", () => this.#resume());
  }

  /** If data flows, delivers the held chunks that are due, and reads on. */
  release(): void {
    if (!this.#flows()) return;
    while (this.#held[0] !== undefined && this.#held[0].dueMs <= performance.now() + 1) {
      const { chunk } = this.#held.shift() ?? { chunk: null };
      if (chunk === null) this.#to.end();
      else {
        this.#heldBytes -= chunk.length;
        this.#write(chunk);
      }
    }
    this.#resume();
    this.#schedule();
  }

  send(chunk: Buffer, delayMs: number): void {
    if (delayMs === 0 && this.#held.length === 0) return this.#write(chunk);
    this.#hold(chunk, delayMs);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes > MAX_HELD_BYTES) this.#from.pause();
  }

  end(delayMs: number): void {
    if (delayMs === 0 && this.#held.length === 0) this.#to.end();
    else this.#hold(null, delayMs);
  }

  #hold(chunk: Buffer | null, delayMs: number): void {
    this.#held.push({ chunk, dueMs: performance.now() + delayMs });
    this.#schedule();
  }

  #schedule(): void {
    const [first] = this.#held;
    if (first === undefined || this.#timer !== null) return;
    const release = (): void => {
      this.#timer = null;
      this.release();
    };
    this.#timer = setTimeout(release, Math.max(0, first.dueMs - performance.now()));
  }

  #write(chunk: Buffer): void {
    if (this.#to.destroyed || !this.#to.writable) return;
    if (!this.#to.write(chunk)) this.#from.pause();
  }

  #resume(): void {
    if (this.#flows() && this.#heldBytes <= MAX_HELD_BYTES && !this.#to.writableNeedDrain) this.#from.resume();
  }
}
