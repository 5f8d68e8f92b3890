import { once } from "node:events";
import net from "node:net";

/**
 * A TCP proxy that can hold back what its clients send. Held bytes reach the server when they are
 * released, even while the client process is paused (SIGSTOP). Held bytes are lost if the client
 * has closed its connection.
 */
export class LateConnection {
  readonly #server: net.Server;
  readonly #sockets: net.Socket[] = [];
  readonly url: string;
  /** Null while bytes are forwarded at once. */
  #held: { readonly bytes: Buffer; readonly to: net.Socket }[] | null = null;

  private constructor(server: net.Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /** Starts a proxy to the server of `url`. */
  static async to(url: string): Promise<LateConnection> {
    const far = new URL(url);
    const server = net.createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const near = new URL(url);
    near.hostname = "127.0.0.1";
    near.port = String((server.address() as net.AddressInfo).port);
    const late = new LateConnection(server, near.href);
    server.on("connection", (from) => late.#join(from, net.connect({ host: far.hostname, port: Number(far.port) })));
    return late;
  }

  hold(): void {
    this.#held ??= [];
  }

  /** Whether the held bytes include `text`. */
  holds(text: string): boolean {
    return this.#held?.some(({ bytes }) => bytes.includes(text)) ?? false;
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const { bytes, to } of held) to.write(bytes);
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(from: net.Socket, to: net.Socket): void {
    this.#sockets.push(from, to);
    from.on("data", (bytes) => {
      if (this.#held === null) to.write(bytes);
      else this.#held.push({ bytes, to });
    });
    to.pipe(from);
    from.on("close", () => to.end()).on("error", () => to.destroy());
    to.on("error", () => from.destroy());
  }
}
