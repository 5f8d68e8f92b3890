import WebSocket from "ws";

import { type Demo, pause } from "../e2e/outside-client.ts";
import type { Violations } from "../live/violations.ts";

const RECONNECT_MS = 500;
const HANDSHAKE_TIMEOUT_MS = 10_000;

interface Sample {
  readonly accountNumber?: string;
  readonly sequence?: number;
  readonly type: string;
  readonly replayTruncated?: boolean;
}

/**
 * A client of the live stream that reconnects after each close, and continues after its last
 * sample. A missed sample is a violation.
 */
export class LiveWatch {
  readonly counts = { samples: 0, connections: 0, refused: 0 };
  readonly #demo: Demo;
  readonly #accounts: readonly string[];
  readonly #violations: Violations;
  readonly #last = new Map<string, number>();
  #socket: WebSocket | null = null;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();

  constructor(demo: Demo, accounts: readonly string[], violations: Violations) {
    this.#demo = demo;
    this.#accounts = accounts;
    this.#violations = violations;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#socket?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      await this.#connect();
      if (!this.#isStopping) await pause(RECONNECT_MS);
    }
  }

  /** Resolves when the connection has ended. */
  #connect(): Promise<void> {
    const { wsBase, managementKey, serverId } = this.#demo;
    const socket = new WebSocket(`${wsBase}/api/v1/management/live-metrics`, {
      headers: { authorization: `Management ${managementKey}` },
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    });
    this.#socket = socket;
    socket.on("open", () => {
      this.counts.connections += 1;
      for (const accountNumber of this.#accounts) {
        const afterSequence = this.#last.get(accountNumber);
        const from = afterSequence === undefined ? {} : { afterSequence };
        socket.send(JSON.stringify({ type: "subscribe", serverId, accountNumber, ...from }));
      }
    });
    socket.on("message", (data) => this.#receive(JSON.parse((data as Buffer).toString("utf8")) as Sample));
    socket.on("error", () => (this.counts.refused += 1));
    return new Promise((resolve) => socket.once("close", () => resolve()));
  }

  #receive({ type, accountNumber, sequence, replayTruncated }: Sample): void {
    if (replayTruncated === true) this.#violations.add(`live: the replay of account ${accountNumber} is truncated`);
    if (type === "error") this.#violations.add(`live: an error for account ${accountNumber}`);
    if (accountNumber === undefined || sequence === undefined) return;
    this.counts.samples += 1;
    const last = this.#last.get(accountNumber);
    if (last !== undefined && sequence !== last + 1)
      this.#violations.add(`live: account ${accountNumber} went from sample ${last} to ${sequence}`);
    this.#last.set(accountNumber, sequence);
  }
}
