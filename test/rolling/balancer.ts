import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

import { delay } from "@kapi/kernel";

const HOST = "127.0.0.1";
/** Interval of the readiness checks, in milliseconds. */
const CHECK_INTERVAL_MS = 50;
/**
 * Time limit of a check. A process that does not answer within this time stays ready or not ready,
 * as it was before the check.
 */
const CHECK_TIMEOUT_MS = 2_000;

/** One process behind a balancer. */
export interface Backend {
  /** Port to which the balancer connects for its clients. */
  readonly port: number;
  /** Base URL of the process's `/readyz`. */
  readonly probes: string;
}

/**
 * A TCP balancer for a service with several processes. A new connection goes to the next ready
 * process, and stays there until one side closes it. If no process is ready, the balancer closes
 * the connection.
 */
export class Balancer {
  readonly #server: Server;
  readonly #backends: readonly Backend[];
  readonly #ready = new Set<Backend>();
  readonly #sockets = new Set<Socket>();
  readonly #stopping = new AbortController();
  #watching: Promise<unknown> = Promise.resolve();
  #failedChecks = 0;
  #turn = 0;

  private constructor(backends: readonly Backend[]) {
    this.#backends = backends;
    this.#server = createServer({ noDelay: true }, (socket) => this.#connect(socket));
  }

  /** Listens on a free port. The processes may start later. */
  static async start(backends: readonly Backend[]): Promise<Balancer> {
    const balancer = new Balancer(backends);
    balancer.#server.listen(0, HOST);
    await once(balancer.#server, "listening");
    balancer.#watching = Promise.all(backends.map((backend) => balancer.#watch(backend)));
    return balancer;
  }

  /** Host and port of the balancer. */
  get authority(): string {
    return `${HOST}:${(this.#server.address() as AddressInfo).port}`;
  }

  /**
   * Number of checks after which no process was ready. Checks of a process before its first ready
   * answer do not count.
   */
  get failedChecks(): number {
    return this.#failedChecks;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await this.#watching;
  }

  async #watch(backend: Backend): Promise<void> {
    const { signal } = this.#stopping;
    let wasReady = false;
    while (!signal.aborted) {
      const isReady = await readiness(backend);
      if (isReady === true) this.#ready.add(backend);
      if (isReady === false) this.#ready.delete(backend);
      wasReady ||= isReady === true;
      if (wasReady && this.#ready.size === 0) this.#failedChecks += 1;
      await delay(CHECK_INTERVAL_MS, signal);
    }
  }

  #connect(client: Socket): void {
    const ready = this.#backends.filter((backend) => this.#ready.has(backend));
    this.#turn += 1;
    const backend = ready[this.#turn % ready.length];
    if (backend === undefined) return void client.destroy();
    const upstream = connect({ port: backend.port, host: HOST, noDelay: true });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroySoon());
      one.once("close", () => {
        this.#sockets.delete(one);
        other.destroySoon();
      });
    }
  }
}

/** Whether a process is ready; null if the process did not answer in time. */
async function readiness({ probes }: Backend): Promise<boolean | null> {
  try {
    const answer = await fetch(`${probes}/readyz`, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError" ? null : false;
  }
}
