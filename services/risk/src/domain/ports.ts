import type { WorkTransaction } from "@kapi/commands";
import type {
  AccountRiskRules,
  Currency,
  CursorKey,
  EvidencePosition,
  ListRiskBreachesQuery,
  LossRuleType,
  PageStart,
  ReadPage,
  RiskBreach,
  RiskRule,
  Valuation,
  AccountRef,
} from "@kapi/contracts";

import type { AccountState, AccountValues, Alert } from "./evaluation.ts";
import type { AccountRecords, Extreme, UnprovenBreach } from "./evidence.ts";
import type { SelectableAccount, TemplateVersion } from "./template.ts";

/** A rule of the API, and the version in which it was added. */
export interface StoredRule {
  readonly since: number;
  readonly rule: RiskRule;
}

/** One version of the rules of an account. */
export interface RuleVersion extends AccountRef {
  readonly version: number;
  /** The account's partition in `trading.valuations`. */
  readonly partition: number;
  readonly organizationId: string;
  readonly accountId: string;
  readonly rules: readonly StoredRule[];
  /** The values of the account when the version was made. */
  readonly seed: AccountValues;
  readonly initialBalanceMinor: number;
  /** The command that asked for the version; a derived id if `isOfTemplate`. */
  readonly commandId: string;
  /** Whether no command asked for the version: it was made when a template was applied. */
  readonly isOfTemplate: boolean;
  /** The version applies to valuations from this offset on; null until the version is active. */
  readonly activeFromOffset: number | null;
  /** Null if an earlier release stored the version: its breaches have no evidence. */
  readonly currency: Currency | null;
}

/** A version of rules to store. Its number is assigned when it is stored. */
export interface NewRuleVersion extends AccountRef {
  readonly organizationId: string;
  readonly accountId: string;
  readonly rules: readonly RiskRule[];
  readonly seed: AccountValues;
  readonly initialBalanceMinor: number;
  readonly currency: Currency;
  readonly commandId: string;
  /** The template of the rules; null: a command set rules on the account, or removed them. */
  readonly template: TemplateVersion | null;
}

/** The state of the rules of one account, in version `version`, at the checkpoint. */
export interface StoredState extends AccountRef {
  readonly version: number;
  readonly state: AccountState;
}

/** The text of a state at one moment: later valuations change the state, but not this text. */
export interface StateText extends AccountRef {
  readonly version: number;
  /** JSON of an {@link AccountState}. */
  readonly state: string;
  /**
   * Distance from the nearest limit of a `dailyLoss` rule, in percent of the limit. Null: there is
   * no such limit, or each of them is breached or is a percentage of a reference that is not
   * positive (decisions, 15.2).
   */
  readonly dailyLeft: number | null;
  /** Until when `dailyLeft` applies. */
  readonly dailyUntil: string | null;
  /** Distance from the nearest limit of a `maxLoss` rule, as `dailyLeft`. */
  readonly lossLeft: number | null;
}

/** What the owner of a partition begins with. */
export interface PartitionStart {
  /** Proves the ownership: a former owner has a lower token, and stores no states or alerts. */
  readonly token: number;
  /** The states include the valuations below this offset. */
  readonly nextOffset: number;
  readonly states: readonly StoredState[];
  /** The active versions that are not older than the version of their account's state. */
  readonly versions: readonly RuleVersion[];
}

/** An alert with the values that made it. */
export interface RecordedAlert extends AccountRef {
  readonly id: string;
  readonly organizationId: string;
  readonly accountId: string;
  readonly alert: Alert;
  readonly rule: RiskRule;
  readonly ruleVersion: number;
  readonly values: AccountValues;
  /** The command of the action; null for a warning, and for a breach whose action is `notify`. */
  readonly commandId: string | null;
  /** The account's partition in `trading.valuations`. */
  readonly partition: number;
  /** Null: there will be no evidence. */
  readonly currency: Currency | null;
  /** When the seed of the rules was measured. */
  readonly ruleActiveFromMs: number;
  /** The rules apply to valuations from this offset on; null if `values.valuation` is undefined. */
  readonly ruleActiveFromOffset: number | null;
}

/** Thrown when another process owns the partition now. */
export class NotOwner extends Error {
  override readonly name = "NotOwner";
}

/** The membership of this process in the consumer group that assigns the partitions. */
export interface Membership {
  /** The group's generation at the last join. */
  readonly generation: number;
  /** The tokens of the partitions before this process joined the group for the first time. */
  readonly tokens: ReadonlyMap<number, number>;
}

/** Rules, states and alerts in PostgreSQL. */
export interface EvaluationStore {
  /** The token of each partition that ever had an owner. */
  tokens(): Promise<ReadonlyMap<number, number>>;
  /**
   * Makes this process the owner of a partition. If the token of the last owner is in
   * `membership.tokens`, that owner was there before this process joined the group. Then its
   * generation does not matter: it can be higher, because Kafka counts generations from 1 again
   * after it has deleted a group.
   * @throws NotOwner if the last owner has a higher generation than `membership`, and its token is
   * not in `membership.tokens`.
   */
  acquire(partition: number, topicId: string, membership: Membership): Promise<PartitionStart>;
  /**
   * The versions of these partitions that are not active yet: of each partition at most `limit`,
   * oldest first.
   */
  waiting(partitions: readonly number[], limit: number): Promise<readonly RuleVersion[]>;
  /** Stores `nextOffset` and the states that changed. @throws NotOwner */
  checkpoint(owner: PartitionOwner, nextOffset: number, states: readonly StateText[]): Promise<void>;
  /** Locks the partition for its owner until the transaction ends. @throws NotOwner */
  lockOwned(transaction: WorkTransaction, owner: PartitionOwner): Promise<void>;
  /** Stores alerts; returns the ids of those that were not stored before. */
  record(transaction: WorkTransaction, alerts: readonly RecordedAlert[], at: string): Promise<ReadonlySet<string>>;
  /** Marks a waiting version as active. Returns whether it was waiting. */
  activate(transaction: WorkTransaction, version: RuleVersion, offset: number, at: string): Promise<boolean>;
  isActive(transaction: WorkTransaction, version: RuleVersion): Promise<boolean>;
  /** Deletes a version, unless it is active. */
  discard(transaction: WorkTransaction, version: RuleVersion): Promise<void>;
}

/** A partition and the token of its owner. */
export interface PartitionOwner {
  readonly partition: number;
  readonly token: number;
}

/** An account, as the account service returns it. */
export interface AccountForRisk extends SelectableAccount {
  readonly accountId: string;
  readonly organizationId: string;
  readonly currency: Currency;
  readonly initialBalanceMinor: number;
  /** Null: the account has no values yet, or they were not asked for. */
  readonly valuation: Valuation | null;
}

/**
 * Reads an account; null if there is no such account, or its deletion has begun. Rejects while its
 * values are unavailable. With `valuation: "none"` it returns no values, and does not need the
 * trading server.
 */
export type ReadAccount = (
  account: AccountRef,
  options?: { readonly valuation: "none" },
) => Promise<AccountForRisk | null>;

/** The newest active version of an account's rules, as the API shows it. */
export type ReadRules = (account: AccountRef) => Promise<AccountRiskRules>;

/** A breach, and its key in the list. */
export interface ListedBreach {
  readonly breach: RiskBreach;
  readonly key: CursorKey<"breaches">;
}

/** Reads the breaches of a page, and one more if there is one. */
export type ReadBreaches = (
  account: AccountRef,
  query: ListRiskBreachesQuery,
  start: PageStart<"breaches">,
) => Promise<ReadPage<ListedBreach>>;

/** One breach of an account; null: the account has no such breach. */
export type ReadBreach = (account: AccountRef, breachId: string) => Promise<RiskBreach | null>;

/** Finds a breach of any account of these servers by its id; null: there is none. */
export type FindBreach = (serverIds: readonly string[], breachId: string) => Promise<RiskBreach | null>;

/** A part of the log of one partition. */
export interface AccountLogRange {
  readonly partition: number;
  /** The keys of the accounts. */
  readonly keys: ReadonlySet<string>;
  /** When the valuations were measured. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Offsets of valuations that are read whatever their time. */
  readonly offsets: readonly number[];
  /** Maximum duration of reading the valuations and the samples together. */
  readonly timeoutMs: number;
}

/**
 * Reads valuations and samples of accounts; returns the records of each key. Rejects while the
 * cluster does not answer.
 */
export type ReadAccountLog = (range: AccountLogRange) => Promise<(key: string) => AccountRecords>;

/** The open positions of an account, with their prices. */
export interface OpenPositions {
  readonly positions: readonly EvidencePosition[];
  /** Whether the account had more positions. */
  readonly isCut: boolean;
}

/**
 * Reads the positions of an account that were open at a time; null if the account was deleted.
 * Rejects while the account service is unavailable. While only the prices are unavailable, it
 * rejects if `needsPrices`; otherwise the positions have no prices.
 */
export type ReadPositions = (
  account: AccountRef,
  at: string,
  options: { readonly needsPrices: boolean },
) => Promise<OpenPositions | null>;

/** A signed document, and what lists of breaches show of it. */
export interface NewEvidence {
  readonly unproven: UnprovenBreach;
  readonly sequence: number | null;
  readonly extreme: Extreme;
  /** JSON. */
  readonly document: string;
}

/**
 * The state of the evidence of a breach. `none`: there is none, and none will be collected. `null`:
 * the account has no such breach.
 */
export type StoredEvidence =
  | { readonly status: "stored"; readonly document: string }
  | { readonly status: "pending"; readonly dueAtMs: number }
  | { readonly status: "none" }
  | null;

/** Evidence in PostgreSQL. */
export interface EvidenceStore {
  /**
   * Breaches of these partitions whose evidence is due, at most `limit`. Every server gets an equal
   * share of the limit, and of each server the breaches that were due first are returned.
   */
  due(partitions: readonly number[], limit: number): Promise<readonly UnprovenBreach[]>;
  /** Stores evidence once; it is no longer due. Returns whether it was not stored before. */
  add(transaction: WorkTransaction, evidence: NewEvidence, at: string): Promise<boolean>;
  /** Makes the evidence of these breaches due at `until`. */
  postpone(breachIds: readonly string[], until: string): Promise<void>;
  /** Marks the evidence of these breaches as no longer due, without storing any. */
  giveUp(breachIds: readonly string[]): Promise<void>;
  read(account: AccountRef, breachId: string): Promise<StoredEvidence>;
  /** Deletes the oldest evidence stored before `before`, at most `limit`; returns how many. */
  deleteBefore(before: string, limit: number): Promise<number>;
}

/** The position of an account in a list of near limits. */
export interface LimitPlace extends AccountRef {
  readonly leftPercent: number;
}

/** A query of accounts by the distance from their limits of losses. */
export interface NearLimitQuery {
  readonly serverIds: readonly string[];
  /** Null: the nearest limit of any type. */
  readonly type: LossRuleType | null;
  /** Maximum distance in percent of the limit; null: any. */
  readonly within: number | null;
  readonly after: LimitPlace | null;
  readonly limit: number;
}

/** Reads accounts by the distance from their limits of losses, the nearest first. */
export interface LimitReader {
  /** A page of accounts, each with the rules and the state that its distance was computed from. */
  near(query: NearLimitQuery): Promise<(StoredState & { readonly rules: readonly StoredRule[] })[]>;
  count(query: Pick<NearLimitQuery, "serverIds" | "type" | "within">): Promise<number>;
}

/**
 * Breaches of servers since a time, newest first, and their number. With `after`, only the breaches
 * that follow this one in the list; `total` counts all.
 */
export type ReadRecentBreaches = (
  serverIds: readonly string[],
  from: string,
  after: { readonly measuredAt: string; readonly id: string } | null,
  limit: number,
) => Promise<{
  readonly total: number;
  readonly breaches: RiskBreach[];
  /** The last breach of the page; null: no other page follows. */
  readonly next: { readonly measuredAt: string; readonly id: string } | null;
}>;
