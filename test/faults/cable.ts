import net from "node:net";

/** Where the near end is; the server itself may be on another machine, or in a container. */
const HOST = "127.0.0.1";

/** A connection to a server that can be cut, frozen and healed. */
export class Cable {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #isCut = false;
  #isFrozen = false;

  private constructor(server: net.Server) {
    this.#server = server;
  }

  /** A cable to where `url` leads, and the address of its near end. */
  static async to(url: string): Promise<{ cable: Cable; url: string }> {
    const far = new URL(url);
    const server = net.createServer();
    const cable = new Cable(server);
    server.on("connection", (near) => cable.#join(near, { host: far.hostname, port: Number(far.port) }));
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    const near = new URL(url);
    near.hostname = HOST;
    near.port = String((server.address() as net.AddressInfo).port);
    return { cable, url: near.href };
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Nothing goes through any more, and nobody is told: connections of now stay so for good. New ones too, until it heals. */
  freeze({ newOnes = false }: { newOnes?: boolean } = {}): void {
    this.#isFrozen = newOnes;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  heal(): void {
    this.#isCut = false;
    this.#isFrozen = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(near: net.Socket, far: { host: string; port: number }): void {
    if (this.#isCut) return void near.destroy();
    const other = net.connect(far);
    for (const [socket, peer] of [
      [near, other],
      [other, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => peer.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        peer.destroy();
      });
    }
    if (this.#isFrozen) near.pause();
    else near.pipe(other).pipe(near);
  }
}
