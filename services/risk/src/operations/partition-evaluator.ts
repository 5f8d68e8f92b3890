/**
 * Compares the valuations of one partition with the rules of its accounts, in the order of the log.
 *
 * Invariants: `position` is the offset of the next valuation to compare. Everything below it is in
 * the states in memory. An alert is kept until it is committed. A checkpoint stores the states as
 * of `position`, after all alerts below it are committed. After a crash the next owner
 * compares the valuations from the checkpoint on again. It finds the same alerts, and records only
 * those that are not stored yet.
 */
import type { CommandStore } from "@kapi/commands";
import { accountKey, type AccountRef } from "@kapi/contracts";
import { decodeValuation } from "@kapi/contracts/codec";
import { type Clock, toIso } from "@kapi/kernel";
import { counter } from "@kapi/runtime";

import { type AccountState, activate, type CalendarOf, emptyState, evaluate } from "../domain/evaluation.ts";
import type {
  EvaluationStore,
  PartitionOwner,
  PartitionStart,
  RecordedAlert,
  RuleVersion,
  StateText,
  StoredState,
} from "../domain/ports.ts";
import type { RuleSet } from "../domain/rule.ts";
import { limitsLeft } from "./list-near-limits.ts";
import { recordAlerts, recordedAlert } from "./record-alerts.ts";
import { SharedRules } from "./shared-rules.ts";

const compared = counter(
  "risk.valuations.compared",
  "Valuations that were compared with the rules of their account",
  "{valuation}",
);
const unreadable = counter(
  "risk.valuations.unreadable",
  "Unreadable valuations of accounts that have rules. The metrics service sends only a few a minute to `dead-letter`",
  "{valuation}",
);
const lost = counter(
  "risk.valuations.lost",
  "Valuations that retention deleted before they were compared",
  "{valuation}",
);
const breaches = counter("risk.breaches", "Breaches that were found, by `action`", "{breach}");

/** An account with rules. */
interface TrackedAccount extends AccountRef {
  version: RuleVersion | null;
  rules: RuleSet | null;
  state: AccountState;
  /** Active versions whose first offset the position has not reached, oldest first. */
  scheduled: RuleVersion[];
  /** Whether the state differs from the stored one. */
  isChanged: boolean;
}

/** What a checkpoint stores. */
interface Snapshot {
  readonly position: number;
  readonly changed: readonly TrackedAccount[];
  readonly states: readonly StateText[];
}

/** An activation of a version: the account afterwards, and the alerts that it found. */
interface Activation {
  readonly version: RuleVersion;
  readonly next: TrackedAccount;
  readonly alerts: readonly RecordedAlert[];
}

/**
 * What all partitions of a process share. Every transaction checks in `store` that this process
 * still owns the partition. If it does not, the transaction is rolled back.
 */
export interface PartitionDependencies {
  readonly store: EvaluationStore;
  readonly commands: Pick<CommandStore, "transact">;
  /** The days of a rule's time zone. */
  readonly calendarOf: CalendarOf;
  /** The time of activations and recorded alerts; valuations bring their own times. */
  readonly clock: Clock;
}

/** A record of `trading.valuations`. */
export interface ValuationMessage {
  readonly key: string;
  readonly value: Buffer;
  readonly offset: bigint;
}

/**
 * Created when the partition is acquired, with the states of its last checkpoint; it lives for one
 * assignment. Batches, activations and snapshots run one after another. Every write throws NotOwner
 * if another process owns the partition by then.
 */
export class PartitionEvaluator {
  readonly owner: PartitionOwner;
  readonly #dependencies: PartitionDependencies;
  readonly #accounts = new Map<string, TrackedAccount>();
  readonly #shared = new SharedRules();
  #found: RecordedAlert[] = [];
  #position: number;
  /**
   * The end of the log at the acquisition. A former owner has possibly compared earlier valuations,
   * so a waiting version becomes active only from this offset on.
   */
  readonly #end: number;
  #durable: number;
  /** Whether accounts had rules at the offset before. Only then missing offsets count as lost. */
  #isContinued: boolean;
  /** The work that runs now: batches, activations and snapshots never overlap. */
  #turn: Promise<unknown> = Promise.resolve();
  /** An activation that is perhaps committed: its transaction runs, or had no clear outcome. */
  #uncertain: Activation | null = null;
  /** Settles when the last started checkpoint is stored or has failed. */
  #checkpoints: Promise<void> = Promise.resolve();

  /** `end`: the end of the log when the partition was acquired. */
  constructor(
    partition: number,
    start: PartitionStart & { readonly end: number },
    dependencies: PartitionDependencies,
  ) {
    this.#end = start.end;
    this.owner = { partition, token: start.token };
    this.#dependencies = dependencies;
    this.#position = start.nextOffset;
    this.#durable = start.nextOffset;
    this.#isContinued = start.states.length > 0;
    const states = new Map(start.states.map((stored) => [keyOf(stored), stored]));
    for (const version of start.versions) {
      this.#restore(this.#shared.share(version), states.get(keyOf(version)));
    }
  }

  /** The offset below which everything is stored. */
  get durableOffset(): number {
    return this.#durable;
  }

  /** Number of accounts that have, or had, rules. */
  get accounts(): number {
    return this.#accounts.size;
  }

  /**
   * Compares a batch, and commits what it finds. After an error, the same batch can be added again.
   */
  addValuations(messages: readonly ValuationMessage[]): Promise<void> {
    return this.#exclusively(async () => {
      for (const message of messages) this.#add(message);
      await this.#commitAlerts();
    });
  }

  /**
   * Activates a version from the position on, and finishes its command as succeeded, in one
   * transaction. A version whose command is final already is discarded, and so is a version below
   * the account's active one. A version of a template has no command.
   *
   * Does nothing while the position is below the end that the log had at the acquisition, or below
   * the first offset of an earlier version of the account. The position can be below that offset if
   * a crashed owner activated the earlier version after the checkpoint at which this owner began.
   */
  activate(version: RuleVersion): Promise<void> {
    return this.#exclusively(async () => {
      // A version never applies to valuations that were compared before the version was set.
      if (this.#position < this.#end) return;
      await this.#commitAlerts();
      const { store, commands, clock } = this.#dependencies;
      const account = this.#tracked(version);
      this.#activateScheduled(account, this.#position);
      if (account.scheduled.length > 0) return;
      if ((account.version?.version ?? 0) >= version.version) return this.discard(version);
      const next = { ...account, state: structuredClone(account.state) };
      const offset = this.#position;
      const alerts = this.#switchTo(next, this.#shared.share({ ...version, activeFromOffset: offset }));
      this.#uncertain = { version, next, alerts };
      const isActive = await commands.transact(async (transaction) => {
        await store.lockOwned(transaction, this.owner);
        // An earlier run of this transaction was committed, and its reply was lost.
        if (await store.isActive(transaction, version)) return true;
        const [command] = version.isOfTemplate ? [] : await transaction.readOpen([version.commandId]);
        if (command === undefined && !version.isOfTemplate) {
          await store.discard(transaction, version);
          return false;
        }
        const at = toIso(clock.nowMs());
        if (!(await store.activate(transaction, version, offset, at))) return false;
        await recordAlerts(store, transaction, alerts, clock.nowMs());
        const result = { version: version.version, activeFrom: at };
        if (command !== undefined) {
          transaction.finish([{ command, status: "succeeded", result, errorCode: null, errorMessage: null }]);
        }
        return true;
      });
      this.#decide(isActive);
    });
  }

  /** Deletes a waiting version that must never become active. */
  discard(version: RuleVersion): Promise<void> {
    const { store, commands } = this.#dependencies;
    return commands.transact((transaction) => store.discard(transaction, version));
  }

  /**
   * If the reply to the commit of an activation was lost, looks whether the version is active.
   * Until that is known nothing is compared, so the position is still that of the activation.
   */
  async #decideUncertain(): Promise<void> {
    const uncertain = this.#uncertain;
    if (uncertain === null) return;
    const { store, commands } = this.#dependencies;
    this.#decide(
      await commands.transact(async (transaction) => {
        await store.lockOwned(transaction, this.owner);
        return store.isActive(transaction, uncertain.version);
      }),
    );
  }

  #decide(isActive: boolean): void {
    const uncertain = this.#uncertain;
    this.#uncertain = null;
    if (!isActive || uncertain === null) return;
    this.#accounts.set(keyOf(uncertain.version), uncertain.next);
    countBreaches(uncertain.alerts);
  }

  /**
   * Stores the position and the changed states, one checkpoint at a time. Valuations are compared
   * while the database writes. Otherwise writing thousands of states would delay breaches for too
   * long.
   */
  checkpoint(): Promise<void> {
    const run = this.#checkpoints.then(async () => {
      const snapshot = await this.#exclusively(() => this.#snapshot());
      if (snapshot === null) return;
      try {
        await this.#dependencies.store.checkpoint(this.owner, snapshot.position, snapshot.states);
      } catch (error) {
        for (const account of snapshot.changed) account.isChanged = true;
        throw error;
      }
      this.#durable = snapshot.position;
    });
    this.#checkpoints = run.catch(() => undefined);
    return run;
  }

  /** The position and the changed states as text; null if this position is already stored. */
  async #snapshot(): Promise<Snapshot | null> {
    if (this.#position === this.#durable) return null;
    for (const account of this.#accounts.values()) this.#activateScheduled(account, this.#position);
    await this.#commitAlerts();
    const changed = [...this.#accounts.values()].filter(({ isChanged }) => isChanged);
    for (const account of changed) account.isChanged = false;
    return { position: this.#position, changed, states: changed.flatMap(toStateText) };
  }

  #restore(version: RuleVersion, stored: StoredState | undefined): void {
    const account = this.#tracked(version);
    if (stored !== undefined && stored.version === version.version) {
      account.version = version;
      account.rules = this.#shared.ruleSetOf(version);
      const { last, rules } = stored.state;
      // An offset means nothing after the account has moved to another partition.
      const isKnown = last?.valuation?.partition === this.owner.partition;
      account.state = { last: last === null || isKnown ? last : { ...last, valuation: undefined }, rules };
    } else if (stored === undefined || version.version > stored.version) {
      account.scheduled.push(version);
    }
    this.#accounts.set(keyOf(version), account);
  }

  #tracked({ serverId, accountNumber }: AccountRef): TrackedAccount {
    const known = this.#accounts.get(accountKey(serverId, accountNumber));
    if (known !== undefined) return known;
    return {
      serverId,
      accountNumber,
      version: null,
      rules: null,
      state: emptyState(),
      scheduled: [],
      isChanged: false,
    };
  }

  #add({ key, value, offset: wide }: ValuationMessage): void {
    const offset = Number(wide);
    if (offset < this.#position) return;
    if (offset > this.#position && this.#isContinued) lost.add(offset - this.#position);
    this.#isContinued = this.#accounts.size > 0;
    this.#position = offset + 1;
    const account = this.#accounts.get(key);
    if (account === undefined) return;
    this.#activateScheduled(account, offset);
    if (account.rules === null || account.version === null) return;
    const decoded = decodeValuation(key, value, offset);
    if ("fault" in decoded) return unreadable.add(1);
    compared.add(1);
    const { measuredAtMs, equityMinor, balanceMinor, netDepositsMinor } = decoded.valuation;
    const valuation = { partition: this.owner.partition, offset };
    const values = { measuredAtMs, equityMinor, balanceMinor, netDepositsMinor, valuation };
    const found = evaluate(account.state, account.rules, account.version, this.#dependencies.calendarOf, values);
    account.isChanged = true;
    for (const alert of found) this.#found.push(recordedAlert(account.version, alert, values));
  }

  /** Switches to the scheduled versions that are active at `offset`. */
  #activateScheduled(account: TrackedAccount, offset: number): void {
    for (let next = account.scheduled[0]; next !== undefined; next = account.scheduled[0]) {
      if ((next.activeFromOffset ?? 0) > offset) return;
      account.scheduled.shift();
      this.#found.push(...this.#switchTo(account, next));
    }
  }

  #switchTo(account: TrackedAccount, version: RuleVersion): RecordedAlert[] {
    const rules = this.#shared.ruleSetOf(version);
    const { seed } = version;
    const before = account.version;
    const found = activate(account.state, account.rules, rules, version, this.#dependencies.calendarOf, seed);
    account.version = version;
    account.rules = rules;
    account.isChanged = true;
    return found.map((alert) => {
      const isNew = rules.rules.includes(alert.rule);
      return recordedAlert(isNew || before === null ? version : before, alert, account.state.last ?? seed);
    });
  }

  async #commitAlerts(): Promise<void> {
    if (this.#found.length === 0) return;
    const found = this.#found;
    const { store, commands, clock } = this.#dependencies;
    await commands.transact(async (transaction) => {
      await store.lockOwned(transaction, this.owner);
      await recordAlerts(store, transaction, found, clock.nowMs());
    });
    this.#found = [];
    countBreaches(found);
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#turn.then(() => this.#decideUncertain()).then(work);
    // Does not keep the result, which can be large.
    this.#turn = run.then(
      () => undefined,
      () => undefined,
    );
    return run;
  }
}

function keyOf({ serverId, accountNumber }: AccountRef): string {
  return accountKey(serverId, accountNumber);
}

function toStateText({ serverId, accountNumber, version, rules, state }: TrackedAccount): StateText[] {
  if (version === null || rules === null) return [];
  const left = limitsLeft(state, rules);
  return [{ serverId, accountNumber, version: version.version, state: JSON.stringify(state), ...left }];
}

function countBreaches(alerts: readonly RecordedAlert[]): void {
  for (const { alert } of alerts) {
    if (alert.kind === "breached") breaches.add(1, { action: alert.rule.action });
  }
}
