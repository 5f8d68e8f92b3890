import { accountKey, TOPICS } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";
import { delay } from "@kapi/kernel";

import type { RandomSource } from "./random-source.ts";
import type { LogWitness } from "./log-witness.ts";
import { expectedFrame } from "./sample-check.ts";

const INTERVAL_MS = 40;
/**
 * Share of the writer's samples that are the next sample after the last accepted one. Such a sample
 * is accepted if the log has it before the sequencer's sample.
 */
const NEXT_SHARE = 0.6;

/**
 * A zombie writer has lost its partition and does not know it. The writer sends samples of new
 * valuations. The acceptance rule rejects some of its samples: their sequence or `from` is wrong.
 */
export class ZombieWriter {
  readonly #producer: Producer;
  readonly #witness: LogWitness;
  readonly #serverId: string;
  readonly #accounts: readonly string[];
  readonly #random: RandomSource;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: {
    readonly producer: Producer;
    readonly witness: LogWitness;
    readonly serverId: string;
    readonly accounts: readonly string[];
    readonly random: RandomSource;
  }) {
    this.#producer = options.producer;
    this.#witness = options.witness;
    this.#serverId = options.serverId;
    this.#accounts = options.accounts;
    this.#random = options.random;
  }

  start(): void {
    this.#running = this.#write();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #write(): Promise<void> {
    for (; !this.#stopping.signal.aborted; await delay(INTERVAL_MS, this.#stopping.signal)) {
      const accountNumber = this.#random.pick(this.#accounts);
      const { sequence, to, open, firstNew, held } = this.#witness.openOf(accountNumber);
      if (firstNew === -1) continue;
      const interval = open.slice(0, this.#random.whole(firstNew + 1, open.length));
      const account = { serverId: this.#serverId, accountNumber };
      const frame = JSON.stringify(expectedFrame(account, sequence + 1, interval, held));
      const next = { sequence: sequence + 1, from: to, to: interval.at(-1)?.offset ?? to };
      const range = this.#random.happens(NEXT_SHARE)
        ? next
        : this.#random.pick([
            { ...next, from: -1 },
            { ...next, from: to - 1 },
            { ...next, sequence },
          ]);
      const key = accountKey(this.#serverId, accountNumber);
      const headers = { sequence: String(range.sequence), from: String(range.from), to: String(range.to) };
      const partition = this.#producer.partitionOf(TOPICS.tradingValuations, key);
      await this.#producer.send(TOPICS.metricsSamples, { key, value: frame, headers, partition });
    }
  }
}
