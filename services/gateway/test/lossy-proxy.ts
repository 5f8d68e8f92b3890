import net from "node:net";

const HOST = "127.0.0.1";

/**
 * A TCP proxy in front of Redis that can lose replies: Redis runs the call, and the proxy closes
 * the connection before the reply. It can also run a hook just before a call reaches Redis.
 */
export class LossyProxy {
  readonly url: string;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #losing: RegExp | null = null;
  #left = 0;
  #next: { readonly request: RegExp; readonly work: () => Promise<void> } | null = null;

  private constructor(server: net.Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async to(redisUrl: string): Promise<LossyProxy> {
    const far = new URL(redisUrl);
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    const near = new URL(redisUrl);
    near.hostname = HOST;
    near.port = String((server.address() as net.AddressInfo).port);
    const proxy = new LossyProxy(server, near.href);
    server.on("connection", (socket) => proxy.#join(socket, { host: far.hostname, port: Number(far.port) }));
    return proxy;
  }

  /** Loses the replies of the next `count` requests that match. */
  lose(request: RegExp, count: number): void {
    this.#losing = request;
    this.#left = count;
  }

  /** How many replies are still to be lost. */
  get left(): number {
    return this.#left;
  }

  /** Runs `work` before the proxy passes the next matching request on to Redis. */
  before(request: RegExp, work: () => Promise<void>): void {
    this.#next = { request, work };
  }

  heal(): void {
    this.#losing = null;
    this.#next = null;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(near: net.Socket, to: { host: string; port: number }): void {
    const far = net.connect(to);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    let isLost = false;
    near.on("data", (data) => {
      const text = data.toString("latin1");
      if (this.#losing?.test(text) === true && this.#left > 0) {
        this.#left -= 1;
        isLost = true;
      }
      const next = this.#next;
      if (next === null || !next.request.test(text)) {
        far.write(data);
        return;
      }
      this.#next = null;
      near.pause();
      void next.work().then(() => {
        far.write(data);
        near.resume();
      });
    });
    far.on("data", (data) => {
      if (isLost) near.destroy();
      else near.write(data);
    });
  }
}
