/**
 * The proxies of one cluster run in a separate process, so that a busy test process does not delay
 * the proxied data.
 */
import { type ChildProcess, fork } from "node:child_process";
import path from "node:path";

import { LocalError } from "../local-error.ts";
import type { ProxyTarget, TcpProxy } from "../tcp-proxy.ts";

const PROGRAM = path.join(import.meta.dirname, "proxy-process.ts");
const HOST = "127.0.0.1";
const ANSWER_DEADLINE_MS = 10_000;

/** The methods of a {@link TcpProxy} that another process can call. */
export type ProxyCall = "pass" | "refuse" | "blackhole" | "freeze" | "dropReplies" | "delay" | "cut" | "retarget";

/** A request to the process of the proxies. `port` identifies the proxy. */
export type ProxyRequest =
  | { readonly id: number; readonly port: number; readonly open: ProxyTarget }
  | { readonly id: number; readonly port: number; readonly call: ProxyCall; readonly argument?: ProxyTarget | number };

/** The answer to the {@link ProxyRequest} with the same `id`. */
export interface ProxyAnswer {
  readonly id: number;
  /** Null if the request succeeded. */
  readonly error: string | null;
}

/** A {@link TcpProxy} in the process of the proxies. A call resolves when it has taken effect. */
export interface NodeProxy extends Pick<TcpProxy, "port" | "address"> {
  pass(): Promise<void>;
  refuse(): Promise<void>;
  blackhole(): Promise<void>;
  freeze(): Promise<void>;
  dropReplies(): Promise<void>;
  delay(delayMs: number): Promise<void>;
  cut(): Promise<void>;
  retarget(target: ProxyTarget): Promise<void>;
}

/**
 * Starts and controls the process with the proxies of one cluster. A call that fails throws
 * LocalError.
 */
export class Proxies {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (error: string | null) => void>();
  #lastId = 0;

  constructor() {
    this.#process = fork(PROGRAM, { stdio: ["ignore", "inherit", "inherit", "ipc"], execArgv: [] });
    this.#process.on("message", ({ id, error }: ProxyAnswer) => this.#waiting.get(id)?.(error));
    this.#process.on("exit", () => {
      for (const answer of this.#waiting.values()) answer("the process of the proxies has ended");
    });
  }

  /** Opens a proxy to `target` on `port`. */
  async open(target: ProxyTarget, port: number): Promise<NodeProxy> {
    await this.#ask((id) => ({ id, port, open: target }));
    const call = (name: ProxyCall, argument?: ProxyTarget | number): Promise<void> =>
      this.#ask((id) => ({ id, port, call: name, ...(argument === undefined ? {} : { argument }) }));
    return {
      port,
      address: `${HOST}:${port}`,
      pass: () => call("pass"),
      refuse: () => call("refuse"),
      blackhole: () => call("blackhole"),
      freeze: () => call("freeze"),
      dropReplies: () => call("dropReplies"),
      delay: (delayMs) => call("delay", delayMs),
      cut: () => call("cut"),
      retarget: (to) => call("retarget", to),
    };
  }

  /** Ends the process, and so every connection. */
  stop(): void {
    this.#process.kill("SIGKILL");
  }

  async #ask(request: (id: number) => ProxyRequest): Promise<void> {
    this.#lastId += 1;
    const asked = request(this.#lastId);
    const answered = new Promise<string | null>((resolve) => {
      const timer = setTimeout(() => resolve(`no answer for ${ANSWER_DEADLINE_MS} ms`), ANSWER_DEADLINE_MS);
      this.#waiting.set(asked.id, (error) => {
        clearTimeout(timer);
        resolve(error);
      });
      this.#process.send(asked, (failed) => (failed === null ? undefined : resolve(failed.message)));
    });
    const error = await answered;
    this.#waiting.delete(asked.id);
    if (error !== null) throw new LocalError(`The proxy on port ${asked.port} failed: ${error}.`);
  }
}
