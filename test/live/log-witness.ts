import { accountKey, TOPICS, type Valuation } from "@kapi/contracts";
import { startLogReader, type KafkaConnection, type Message } from "@kapi/kafka";
import type { Logger, Scope } from "@kapi/runtime";

import type { Violations } from "./violations.ts";
import { type AcceptedSample, type RawValuation, sampleFaults, haveEqualValues } from "./sample-check.ts";
import type { SampleLedger } from "./sample-ledger.ts";

interface AccountRecord {
  readonly accountNumber: string;
  sequence: number;
  to: number;
  /**
   * Valuations that are in no checked sample yet. A valuation is left out if an earlier record has
   * a later `measuredAt`.
   */
  raw: RawValuation[];
  newestMeasuredMs: number;
  /**
   * The last valuation of the last checked sample. The sample has the values of this valuation.
   * Null before the first checked sample.
   */
  announced: RawValuation | null;
  /** Time at which each sample was written, by sequence. */
  readonly writtenMs: number[];
}

interface Waiting {
  readonly account: AccountRecord;
  readonly sample: AcceptedSample;
}

/**
 * Reads `trading.valuations` and `metrics.samples`, applies the documented acceptance rule, and
 * compares each accepted sample with the raw valuations of its interval.
 */
export class LogWitness {
  readonly #violations: Violations;
  readonly #ledger: SampleLedger;
  readonly #serverId: string;
  readonly #accounts: ReadonlyMap<string, AccountRecord>;
  /** Accepted samples whose valuations are not all read yet, by partition. */
  readonly #waiting = new Map<number, Waiting[]>();
  readonly #rawRead = new Map<number, number>();
  #accepted = 0;
  #refused = 0;
  #unchanged = 0;

  constructor(options: {
    readonly serverId: string;
    readonly accounts: readonly string[];
    readonly violations: Violations;
    readonly ledger: SampleLedger;
  }) {
    this.#violations = options.violations;
    this.#ledger = options.ledger;
    this.#serverId = options.serverId;
    this.#accounts = new Map(
      options.accounts.map((accountNumber) => [accountKey(options.serverId, accountNumber), newRecord(accountNumber)]),
    );
  }

  /** Number of accepted samples. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Number of samples in the log that the acceptance rule rejects. */
  get refused(): number {
    return this.#refused;
  }

  /** Number of valuations that caused no sample, because their values equal the last sample's. */
  get unchanged(): number {
    return this.#unchanged;
  }

  /** Reads both topics from their beginnings until `scope` stops. */
  async start(kafka: KafkaConnection, logger: Logger, scope: Scope): Promise<void> {
    const fatal = (error: Error): void => this.#violations.add(`the log could not be read: ${error.message}`);
    const read = { from: "beginning", logger, fatal } as const;
    await scope.start("raw valuations", () =>
      startLogReader(kafka, {
        ...read,
        topic: TOPICS.tradingValuations,
        onBatch: (partition, messages) => this.#takeRaw(partition, messages),
      }),
    );
    await scope.start("samples", () =>
      startLogReader(kafka, {
        ...read,
        topic: TOPICS.metricsSamples,
        onBatch: (partition, messages) => this.#takeSamples(partition, messages),
      }),
    );
  }

  /** The sequence of the account's last accepted sample. */
  last(accountNumber: string): number {
    return this.#record(accountNumber).sequence;
  }

  /**
   * Returns the sequence of the account's last accepted sample, and `to`, the offset of the last
   * valuation in this sample. `held` is the last valuation of the last checked sample. `open` has
   * the valuations after `to`. `firstNew` is the index in `open` of the first valuation with other
   * values than `held`. It is -1 if there is none, or if the last sample has not been checked.
   */
  openOf(accountNumber: string): {
    readonly sequence: number;
    readonly to: number;
    readonly open: readonly RawValuation[];
    readonly firstNew: number;
    readonly held: RawValuation | null;
  } {
    const { sequence, to, raw, announced } = this.#record(accountNumber);
    const open = raw.filter(({ offset }) => offset > to);
    // The values of the last sample are unknown until it has been checked.
    const isKnown = announced !== null && announced.offset === to;
    const firstNew = isKnown ? open.findIndex((one) => !haveEqualValues(one, announced)) : -1;
    return { sequence, to, open, firstNew, held: announced };
  }

  /**
   * Returns the sequence of the account's first accepted sample that was written at `sinceMs` or
   * later. Without such a sample, returns the last accepted sequence + 1.
   */
  firstSince(accountNumber: string, sinceMs: number): number {
    const { writtenMs, sequence } = this.#record(accountNumber);
    const found = writtenMs.findIndex((atMs, index) => index > 0 && atMs >= sinceMs);
    return found === -1 ? sequence + 1 : found;
  }

  /**
   * Returns null if no valuation is missing and every accepted sample was checked. Otherwise, the
   * text names a missing valuation or an unchecked sample. A valuation that was read is missing if
   * it is in no checked sample, and its values differ from the account's last checked sample.
   */
  missing(): string | null {
    for (const account of this.#accounts.values()) {
      const { accountNumber, raw, announced } = account;
      const lost = raw.find((one) => announced === null || !haveEqualValues(one, announced));
      if (lost !== undefined)
        return `${accountNumber}: no checked sample includes the valuation at offset ${lost.offset}; the last accepted sample is ${account.sequence}`;
    }
    const waiting = [...this.#waiting.values()].flat()[0];
    if (waiting === undefined) return null;
    return `${waiting.account.accountNumber}: not all valuations of sample ${waiting.sample.sequence} were read`;
  }

  #record(accountNumber: string): AccountRecord {
    const record = this.#accounts.get(accountKey(this.#serverId, accountNumber));
    if (record === undefined) throw new RangeError(`unknown account ${accountNumber}`);
    return record;
  }

  #takeRaw(partition: number, messages: readonly Message[]): void {
    for (const { key, value, offset } of messages) {
      const account = this.#accounts.get(key);
      if (account === undefined) continue;
      const raw = { ...(JSON.parse(value.toString("utf8")) as Valuation), offset: Number(offset) };
      const measuredMs = Date.parse(raw.measuredAt);
      if (measuredMs < account.newestMeasuredMs) continue;
      account.newestMeasuredMs = measuredMs;
      account.raw.push(raw);
    }
    const last = messages.at(-1);
    if (last !== undefined) this.#rawRead.set(partition, Number(last.offset) + 1);
    this.#check(partition);
  }

  #takeSamples(partition: number, messages: readonly Message[]): void {
    const waiting = this.#waiting.get(partition) ?? [];
    this.#waiting.set(partition, waiting);
    for (const { key, value, headers, timestampMs } of messages) {
      const account = this.#accounts.get(key);
      if (account === undefined) continue;
      const [sequence, from, to] = [Number(headers["sequence"]), Number(headers["from"]), Number(headers["to"])];
      if (sequence !== account.sequence + 1 || from !== account.to || !(to > from)) {
        this.#refused += 1;
        continue;
      }
      account.sequence = sequence;
      account.to = to;
      account.writtenMs[sequence] = timestampMs;
      this.#accepted += 1;
      this.#ledger.record(account.accountNumber, sequence, value, "the log");
      waiting.push({ account, sample: { sequence, from, to, value } });
    }
    this.#check(partition);
  }

  #check(partition: number): void {
    const waiting = this.#waiting.get(partition) ?? [];
    const read = this.#rawRead.get(partition) ?? 0;
    while (waiting[0] !== undefined && waiting[0].sample.to < read) {
      const { account, sample } = waiting[0];
      waiting.shift();
      const end = account.raw.findIndex(({ offset }) => offset > sample.to);
      const interval = account.raw.splice(0, end === -1 ? account.raw.length : end);
      const { announced } = account;
      if (announced !== null)
        this.#unchanged += Math.max(
          0,
          interval.findIndex((one) => !haveEqualValues(one, announced)),
        );
      account.announced = interval.at(-1) ?? announced;
      const names = { serverId: this.#serverId, accountNumber: account.accountNumber };
      for (const fault of sampleFaults(names, sample, interval, announced)) {
        const { sequence, from, to } = sample;
        this.#violations.add(`${account.accountNumber}: sample ${sequence} of (${from}, ${to}]: ${fault}`);
      }
    }
  }
}

function newRecord(accountNumber: string): AccountRecord {
  return {
    accountNumber,
    sequence: 0,
    to: -1,
    raw: [],
    newestMeasuredMs: Number.NEGATIVE_INFINITY,
    announced: null,
    writtenMs: [],
  };
}
