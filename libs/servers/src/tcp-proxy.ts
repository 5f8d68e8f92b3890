/**
 * A TCP proxy in front of one server, which makes the faults of a network: connections refused,
 * cut, delayed, silent in both directions or in one. Clients know only the proxy's address, so it
 * stays the same when the server is replaced.
 */
import net from "node:net";

import { ProxiedConnection, type ProxyMode } from "./proxied-connection.ts";

const HOST = "127.0.0.1";

/** Where a proxy's connections lead. */
export interface ProxyTarget {
  readonly host: string;
  readonly port: number;
}

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

  /** Opens a proxy to `target` on `port`; 0 takes any that is free. */
  static async open(target: ProxyTarget, port = 0): Promise<TcpProxy> {
    const listener = net.createServer({ allowHalfOpen: true });
    await listening(listener, port);
    const proxy = new TcpProxy((listener.address() as net.AddressInfo).port, target);
    proxy.#accept(listener);
    return proxy;
  }

  /** A proxy to the server of `url`, and the same URL leading to the proxy. */
  static async inFrontOf(url: string): Promise<{ proxy: TcpProxy; url: string }> {
    const there = new URL(url);
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

  /** Connections that are open now, silent ones too. */
  get connections(): number {
    return this.#connections.size;
  }

  /**
   * Ends every fault. What a black hole held back flows on, as after a network's recovery; a
   * connection that lost bytes, or whose other side has gone meanwhile, is reset.
   */
  async pass(): Promise<void> {
    this.#mode = "pass";
    this.#delayMs = 0;
    if (this.#listener === null) await this.#listen();
    this.#apply();
  }

  /**
   * Resets every connection and refuses new ones, as where the server's machine is up and the
   * server is not.
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
   * Half-open: connections stay open, new ones are accepted, and nothing flows in either direction,
   * not even an end.
   */
  async blackhole(): Promise<void> {
    await this.#change("blackhole");
  }

  /**
   * Half-open: the connections of now fall silent until {@link pass}; new ones get what the mode
   * says.
   */
  freeze(): void {
    for (const connection of this.#connections) connection.apply("blackhole", 0);
  }

  /** Requests reach the server and its replies are thrown away; connections stay open. */
  async dropReplies(): Promise<void> {
    await this.#change("drop replies");
  }

  /** Everything arrives `delayMs` later, in each direction. */
  async delay(delayMs: number): Promise<void> {
    this.#delayMs = delayMs;
    await this.#change("pass");
  }

  /** Resets every connection; new ones get what the mode says. */
  cut(): void {
    for (const connection of this.#connections) connection.reset();
  }

  /** Leads new connections elsewhere, and resets those to the former target. */
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
