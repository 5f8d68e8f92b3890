/**
 * A TCP proxy in front of one server. It simulates network faults: connections are refused, cut,
 * delayed, or silent in one or both directions. Clients know only the address of the proxy, which
 * stays the same when the server is replaced.
 */
import net from "node:net";

import { ProxiedConnection, type ProxyMode } from "./proxied-connection.ts";

const HOST = "127.0.0.1";

/** The server behind a proxy. */
export interface ProxyTarget {
  readonly host: string;
  readonly port: number;
}

/** One proxy, which runs in this process. It passes all data until a test begins a fault. */
export class TcpProxy {
  readonly port: number;
  #target: ProxyTarget;
  #mode: ProxyMode = "pass";
  #delayMs = 0;
  #listener: net.Server | null = null;
  readonly #connections = new Set<ProxiedConnection>();

  private constructor(port: number, target: ProxyTarget) {
    this.port = port;
    this.#target = target;
  }

  /** Opens a proxy to `target` on `port`; 0 means any free port. */
  static async open(target: ProxyTarget, port = 0): Promise<TcpProxy> {
    const listener = net.createServer({ allowHalfOpen: true });
    await listening(listener, port);
    const proxy = new TcpProxy((listener.address() as net.AddressInfo).port, target);
    proxy.#accept(listener);
    return proxy;
  }

  /**
   * Opens a proxy to the server of `url`, which must have a port. Returns the proxy and `url` with
   * the proxy's address.
   */
  static async inFrontOf(url: string): Promise<{ proxy: TcpProxy; url: string }> {
    const there = new URL(url);
    if (there.port === "") {
      throw new Error(`The address of ${there.host} has no port: add it, for example ${there.host}:5432.`);
    }
    const proxy = await TcpProxy.open({ host: there.hostname, port: Number(there.port) });
    there.hostname = HOST;
    there.port = String(proxy.port);
    return { proxy, url: there.href };
  }

  /** host:port of the proxy. */
  get address(): string {
    return `${HOST}:${this.port}`;
  }

  get mode(): ProxyMode {
    return this.#mode;
  }

  /** Number of open connections, including silent ones. */
  get connections(): number {
    return this.#connections.size;
  }

  /**
   * Ends every fault. Data that a black hole has held is delivered, as after the recovery of a
   * network. A connection is reset if it has lost bytes or if one side has closed meanwhile.
   */
  async pass(): Promise<void> {
    this.#mode = "pass";
    this.#delayMs = 0;
    if (this.#listener === null) await this.#listen();
    this.#apply();
  }

  /**
   * Resets every connection and refuses new ones, like a machine that is up without a running
   * server.
   */
  async refuse(): Promise<void> {
    this.#mode = "refuse";
    const listener = this.#listener;
    this.#listener = null;
    this.cut();
    if (listener === null) return;
    await new Promise<void>((resolve) => listener.close(() => resolve()));
  }

  /**
   * Half-open: connections stay open and new ones are accepted, but no data and no close passes in
   * either direction. Only a reset by the client passes: the server's connection is reset too.
   */
  async blackhole(): Promise<void> {
    await this.#change("blackhole");
  }

  /**
   * Half-open: existing connections are silent until `pass` or a method that begins another fault
   * is called. New connections follow the current mode.
   */
  freeze(): void {
    for (const connection of this.#connections) connection.apply("blackhole", 0);
  }

  /** Requests reach the server, but its replies are discarded. Connections stay open. */
  async dropReplies(): Promise<void> {
    await this.#change("drop replies");
  }

  /** Delays all data by `delayMs`, in each direction. Ends the other faults. */
  async delay(delayMs: number): Promise<void> {
    this.#delayMs = delayMs;
    await this.#change("pass");
  }

  /** Resets every connection. New connections follow the current mode. */
  cut(): void {
    for (const connection of this.#connections) connection.reset();
  }

  /** Connects new connections to `target`, and resets all existing connections. */
  retarget(target: ProxyTarget): void {
    this.#target = target;
    this.cut();
  }

  /** Resets every connection and stops listening for good. */
  close(): Promise<void> {
    return this.refuse();
  }

  async #change(mode: ProxyMode): Promise<void> {
    this.#mode = mode;
    if (this.#listener === null) await this.#listen();
    this.#apply();
  }

  #apply(): void {
    for (const connection of this.#connections) connection.apply(this.#mode, this.#delayMs);
  }

  async #listen(): Promise<void> {
    const listener = net.createServer({ allowHalfOpen: true });
    await listening(listener, this.port);
    this.#accept(listener);
  }

  #accept(listener: net.Server): void {
    this.#listener = listener;
    listener.on("connection", (client) => {
      const connection = new ProxiedConnection(client, () => net.connect({ ...this.#target, allowHalfOpen: true }));
      this.#connections.add(connection);
      connection.onEnd(() => this.#connections.delete(connection));
      connection.apply(this.#mode, this.#delayMs);
    });
  }
}

function listening(listener: net.Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    listener.once("error", reject);
    listener.listen({ port, host: HOST }, () => {
      listener.off("error", reject);
      resolve();
    });
  });
}
