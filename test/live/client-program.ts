import { type Account, Kapi, type Live, type LiveEvent, type Place, type Truncation } from "@kapi/client";
import { delay } from "@kapi/kernel";

import { connectSocket } from "../../libs/client/src/live/socket.ts";
import type { RandomSource } from "./random-source.ts";
import type { SampleLedger } from "./sample-ledger.ts";
import type { Violations } from "./violations.ts";

const MEAN_RUN_MS = 4_000;
/** So few that the accounts need several connections. */
const ACCOUNTS_PER_CONNECTION = 7;
/**
 * The handler fails for one event in this many. In half of the cases it fails after it has stored
 * the event.
 */
const EVENTS_PER_FAILURE = 200;

export interface ClientProgramOptions {
  readonly serverId: string;
  readonly managementKey: string;
  /** Base address of the API, where the program reads an account after a truncation. */
  readonly baseUrl: string;
  readonly accounts: readonly string[];
  /** The address of the next connection. */
  readonly address: () => string;
  readonly random: RandomSource;
  readonly ledger: SampleLedger;
  readonly violations: Violations;
}

/** What the program has stored of an account, in one transaction for each event. */
interface Stored {
  place: Place | null;
  /** Number of handled samples. */
  handled: number;
  /** Sequence of the last sample that was handled, or announced as missing. */
  last: number;
  /** The announced gaps. */
  readonly missed: Truncation[];
}

/**
 * A user's program on the client library. It follows all accounts, and stores its places together
 * with the events that it handled. It is restarted at random times, and its handler fails at
 * random. At the end, the proofs of the client library (`live.proof`) must agree with the stored
 * events.
 */
export class ClientProgram {
  readonly counts = { samples: 0, truncations: 0, restarts: 0, failures: 0 };
  readonly #options: ClientProgramOptions;
  readonly #stored: ReadonlyMap<string, Stored>;
  #live: Live | null = null;
  #isRunning = true;
  #done: Promise<void> = Promise.resolve();

  constructor(options: ClientProgramOptions) {
    this.#options = options;
    this.#stored = new Map(
      options.accounts.map((account) => [account, { place: null, handled: 0, last: 0, missed: [] }]),
    );
  }

  /** Starts the program. Restarts it at random times until {@link ClientProgram.settle}. */
  start(): void {
    this.#done = this.#run();
  }

  /** Ends the restarts. The program continues to read until {@link ClientProgram.stop}. */
  settle(): void {
    this.#isRunning = false;
  }

  /** The sequence up to which everything was handled or announced as missing. */
  processed(accountNumber: string): number {
    return this.#of(accountNumber).place?.sequence ?? 0;
  }

  /** Compares the proofs with the stored events, and ends the program. */
  async stop(): Promise<void> {
    this.settle();
    await this.#done;
    const live = this.#live;
    this.#live = null;
    if (live === null) return;
    this.#checkProofs(live);
    await live.close();
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#live = this.#open();
      const endMs = Date.now() + MEAN_RUN_MS * (0.5 + this.#options.random.next());
      while (this.#isRunning && Date.now() < endMs) await delay(50);
      if (!this.#isRunning) return;
      await this.#live.close();
      this.counts.restarts += 1;
    }
  }

  #open(): Live {
    const { serverId, managementKey: key, baseUrl, accounts, address, ledger } = this.#options;
    const kapi = new Kapi({
      key,
      baseUrl,
      liveUrl: address(),
      socket: (url, headers, listener) =>
        connectSocket(address() + new URL(url).pathname, headers, {
          onMessage: (text) => {
            const message = JSON.parse(text) as { type: string; accountNumber: string; sequence: number };
            if (message.type === "account.metrics") {
              ledger.record(message.accountNumber, message.sequence, Buffer.from(text), "the client library");
            }
            listener.onMessage(text);
          },
          onPing: () => listener.onPing(),
          onClose: (code) => listener.onClose(code),
          onRejection: (rejection) => listener.onRejection(rejection),
        }),
    });
    const live = kapi.live({
      places: { load: ({ accountNumber }) => Promise.resolve(this.#of(accountNumber).place) },
      accountsPerConnection: ACCOUNTS_PER_CONNECTION,
    });
    for (const accountNumber of accounts) {
      live.follow({ serverId, accountNumber }, (event) => this.#handle(accountNumber, event));
    }
    return live;
  }

  #handle(accountNumber: string, event: LiveEvent): void {
    const { random, violations } = this.#options;
    const fails = random.happens(1 / EVENTS_PER_FAILURE);
    if (fails && random.happens(0.5)) this.#fail();
    const stored = this.#of(accountNumber);
    if (event.type === "sample") {
      const { sequence } = event.sample;
      if (stored.last !== 0 && sequence !== stored.last + 1) {
        violations.add(`the client library gave sample ${sequence} of ${accountNumber} after ${stored.last}`);
      }
      stored.last = sequence;
      stored.handled += 1;
      this.counts.samples += 1;
    } else if (event.type === "reconciled") {
      if (event.missed.from !== stored.last + 1) {
        const { from } = event.missed;
        violations.add(`the client library announced a gap of ${accountNumber} from ${from} after ${stored.last}`);
      }
      stored.last = event.missed.to;
      stored.missed.push(event.missed);
      this.counts.truncations += 1;
    } else violations.add(`the client library stopped following ${accountNumber}: ${event.type}`);
    stored.place = event.place;
    if (fails) this.#fail();
  }

  #fail(): never {
    this.counts.failures += 1;
    throw new Error("the handler fails");
  }

  /** A proof must have the stored last sample, number of samples and number of gaps. */
  #checkProofs(live: Live): void {
    const { serverId, accounts, violations } = this.#options;
    for (const accountNumber of accounts) {
      const account: Account = { serverId, accountNumber };
      const { handled, last, missed, place } = this.#of(accountNumber);
      if (place === null) continue;
      const proof = live.proof(account);
      const missing = missed.reduce((sum, { from, to }) => sum + Math.max(0, to - from + 1), 0);
      const proven = proof.to - proof.from + 1 - missing;
      if (proof.to !== last || proven !== handled || proof.truncationCount !== missed.length) {
        const text = `${JSON.stringify(proof)}, but ${handled} samples up to ${last} were handled, with ${missed.length} gaps`;
        violations.add(`the client library's proof of ${accountNumber} is ${text}`);
      }
    }
  }

  #of(accountNumber: string): Stored {
    const stored = this.#stored.get(accountNumber);
    if (stored === undefined) throw new RangeError(`the program does not follow account ${accountNumber}`);
    return stored;
  }
}
