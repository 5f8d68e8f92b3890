import type { KafkaConnection } from "@kapi/kafka";
import { delay } from "@kapi/kernel";
import { type Logger, Scope } from "@kapi/runtime";

import { ClientProgram } from "./client-program.ts";
import { Checker, type CheckerOptions } from "./checker.ts";
import type { RandomSource } from "./random-source.ts";
import { Violations } from "./violations.ts";
import type { FleetMember } from "./fleet.ts";
import { LogWitness } from "./log-witness.ts";
import { SampleLedger } from "./sample-ledger.ts";

/**
 * The replay window (decisions, 10.2). `WINDOW_MS` is shorter by a margin for clock differences and
 * for the interval at which old samples are deleted.
 */
const WINDOW_SAMPLES = 300;
const WINDOW_MS = 5 * 60_000 - 10_000;
const SETTLE_POLL_MS = 50;

export interface TrialOptions {
  readonly kafka: KafkaConnection;
  readonly logger: Logger;
  readonly serverId: string;
  readonly managementKey: string;
  readonly accounts: readonly string[];
  readonly random: RandomSource;
  /** Called with the text of each of the first violations, up to the limit of `Violations`. */
  readonly report?: (text: string) => void;
}

/** Compares the samples of clients with the log. */
export class Trial {
  readonly violations: Violations;
  readonly witness: LogWitness;
  readonly checkers: Checker[] = [];
  readonly programs: ClientProgram[] = [];
  readonly #options: TrialOptions;
  readonly #ledger: SampleLedger;
  readonly #scope = new Scope();

  private constructor(options: TrialOptions) {
    this.#options = options;
    this.violations = new Violations(options.report);
    this.#ledger = new SampleLedger(this.violations);
    const { serverId, accounts } = options;
    this.witness = new LogWitness({ serverId, accounts, violations: this.violations, ledger: this.#ledger });
  }

  /** Starts to read the log. The trial has no clients yet. */
  static async start(options: TrialOptions): Promise<Trial> {
    const trial = new Trial(options);
    await trial.witness.start(options.kafka, options.logger, trial.#scope);
    return trial;
  }

  /**
   * Adds and starts a client of these stream processes. By default it subscribes to all accounts.
   */
  add(
    name: string,
    streams: readonly Pick<FleetMember, "wsUrl">[],
    behaviour: Pick<CheckerOptions, "meanCutMs" | "longAbsence"> & Partial<Pick<CheckerOptions, "accounts">> = {},
  ): Checker {
    const { serverId, managementKey, accounts, random } = this.#options;
    const own = random.fork();
    const checker = new Checker({
      name,
      managementKey,
      serverId,
      accounts,
      address: () => own.pick(streams).wsUrl,
      violations: this.violations,
      ledger: this.#ledger,
      random: own,
      ...behaviour,
    });
    this.checkers.push(checker);
    checker.start();
    return checker;
  }

  /** Adds a user's program on the client library, which reads accounts at `baseUrl`. */
  addProgram(streams: readonly Pick<FleetMember, "wsUrl">[], baseUrl: string): ClientProgram {
    const { serverId, managementKey, accounts, random } = this.#options;
    const own = random.fork();
    const program = new ClientProgram({
      serverId,
      managementKey,
      baseUrl,
      accounts,
      address: () => own.pick(streams).wsUrl,
      random: own,
      ledger: this.#ledger,
      violations: this.violations,
    });
    this.programs.push(program);
    program.start();
    return program;
  }

  /**
   * Call this after the last valuation. Waits until the samples include every valuation, and every
   * client has all samples. Then stops the trial, and checks the sequences and the notices. After
   * `timeoutMs` the method waits no longer, and reports the first missing valuation or sample.
   */
  async settle(timeoutMs: number): Promise<void> {
    for (const checker of this.checkers) checker.cutting = false;
    for (const program of this.programs) program.settle();
    const endMs = Date.now() + timeoutMs;
    let quietSinceMs = Date.now();
    let accepted = this.witness.accepted;
    let behind = this.#unsettled();
    // Wait for a quiet period: a repeated or surplus sample must still be found.
    while (behind !== null || Date.now() - quietSinceMs < 20 * SETTLE_POLL_MS) {
      if (Date.now() > endMs) break;
      await delay(SETTLE_POLL_MS);
      behind = this.#unsettled();
      if (behind !== null || this.witness.accepted !== accepted) quietSinceMs = Date.now();
      accepted = this.witness.accepted;
    }
    if (behind !== null) this.violations.add(behind);
    await this.stop();
    this.#checkEnds();
    this.#checkNotices();
  }

  /** Stops all clients and the reader of the log. */
  async stop(): Promise<void> {
    await Promise.all([...this.checkers, ...this.programs].map((client) => client.stop()));
    await this.#scope.stop();
  }

  /**
   * Returns null if no valuation or sample is missing, otherwise a text that names the first.
   */
  #unsettled(): string | null {
    const { witness } = this;
    const missing = witness.missing();
    if (missing !== null) return missing;
    for (const checker of this.checkers) {
      if (checker.isStopped) continue;
      for (const account of checker.accounts) {
        const [processed, last] = [checker.processed(account), witness.last(account)];
        if (processed !== last)
          return `${checker.name} has sample ${processed} of account ${account}, the log has sample ${last}`;
      }
    }
    for (const program of this.programs) {
      for (const account of this.#options.accounts) {
        const [processed, last] = [program.processed(account), witness.last(account)];
        if (processed !== last)
          return `the client library has sample ${processed} of account ${account}, the log has sample ${last}`;
      }
    }
    return null;
  }

  #checkEnds(): void {
    for (const account of this.#options.accounts) {
      const [seen, last] = [this.#ledger.highest(account), this.witness.last(account)];
      if (last === 0) this.violations.add(`${account}: no sample was accepted`);
      if (seen > last)
        this.violations.add(`${account}: a client has sample ${seen}, but the last accepted sample is ${last}`);
    }
  }

  /** A notice must report a complete window as available, also after a restart. */
  #checkNotices(): void {
    for (const { name, notices } of this.checkers) {
      for (const { accountNumber, first, last, atMs } of notices) {
        const { witness } = this;
        const owed = Math.max(1, last - WINDOW_SAMPLES + 1, witness.firstSince(accountNumber, atMs - WINDOW_MS));
        if (first > Math.min(owed, last)) {
          const range = `${accountNumber}: ${first} to ${last} was announced as available, but samples from ${owed} on must be available`;
          if (last > 0) this.violations.add(`${name}: ${range}`);
        }
      }
    }
  }
}
