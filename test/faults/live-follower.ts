/** A live client that follows one account, and reconnects with the last sequence that it has. */
import { type LiveClient, type LiveMessage, type OutsideClient, pause } from "../e2e/outside-client.ts";

const RECONNECT_MS = 200;
const MESSAGE_TIMEOUT_MS = 500;

/** Follows the account from the constructor until `stop`, and records every fault of the stream. */
export class LiveFollower {
  readonly #client: OutsideClient;
  readonly #account: string;
  readonly #faults: string[] = [];
  readonly #running: Promise<void>;
  #last: LiveMessage | null = null;
  #samples = 0;
  #stopped = false;

  constructor(client: OutsideClient, account: string) {
    this.#client = client;
    this.#account = account;
    this.#running = this.#run();
  }

  /** Waits up to 30 s until the newest sample has this balance. */
  async reached(balance: number): Promise<void> {
    const deadline = Date.now() + 30_000;
    while (this.#last?.["balance"] !== balance) {
      if (Date.now() > deadline)
        throw new Error(`the newest sample of ${this.#account} does not have the balance ${balance}`);
      await pause(100);
    }
  }

  /**
   * Stops. Returns the number of samples, and every gap, repeat, truncated replay and error message
   * of the stream. Lost connections are no faults.
   */
  async stop(): Promise<{ readonly samples: number; readonly faults: readonly string[] }> {
    this.#stopped = true;
    await this.#running;
    return { samples: this.#samples, faults: this.#faults };
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#follow(await this.#client.live());
      } catch {
        await pause(RECONNECT_MS);
      }
    }
  }

  async #follow(live: LiveClient): Promise<void> {
    const end: { closed: boolean } = { closed: false };
    void live.closed().then(() => (end.closed = true));
    const afterSequence = this.#last === null ? {} : { afterSequence: Number(this.#last["sequence"]) };
    const { serverId } = this.#client.demo;
    live.send({ type: "subscribe", serverId, accountNumber: this.#account, ...afterSequence });
    try {
      while (!this.#stopped) {
        const message = await live.next(MESSAGE_TIMEOUT_MS).catch(() => null);
        if (message !== null) this.#check(message);
        else if (end.closed) return;
      }
    } finally {
      live.close();
    }
  }

  #check(message: LiveMessage): void {
    if (message.type === "account.metrics.replay" && message["replayTruncated"] === true)
      this.#faults.push(`truncated replay: ${JSON.stringify(message)}`);
    if (message.type === "error") this.#faults.push(JSON.stringify(message));
    if (message.type !== "account.metrics") return;
    const last = this.#last === null ? null : Number(this.#last["sequence"]);
    const sequence = Number(message["sequence"]);
    if (last !== null && sequence !== last + 1) this.#faults.push(`${this.#account}: ${sequence} after ${last}`);
    this.#last = message;
    this.#samples += 1;
  }
}
