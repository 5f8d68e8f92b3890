import type { WorkTransaction } from "@kapi/commands";
import type {
  AccountRiskRules,
  CursorKey,
  ListRiskBreachesQuery,
  PageStart,
  ReadPage,
  RiskBreach,
  RiskRule,
  Valuation,
} from "@kapi/contracts";

import type { AccountState, AccountValues, Alert } from "./evaluation.ts";
import type { SelectableAccount, TemplateVersion } from "./template.ts";

/** An account on a trading server. */
export interface AccountName {
  readonly serverId: string;
  readonly accountNumber: string;
}

/** A rule of the API, and the version in which it was added. */
export interface StoredRule {
  readonly since: number;
  readonly rule: RiskRule;
}

/** One version of the rules of an account. */
export interface RuleVersion extends AccountName {
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
  /** Null until the version is active. */
  readonly activeFromOffset: number | null;
}

/** A version of rules to store. Its number is given when it is stored. */
export interface NewRuleVersion extends AccountName {
  readonly organizationId: string;
  readonly accountId: string;
  readonly rules: readonly RiskRule[];
  readonly seed: AccountValues;
  readonly initialBalanceMinor: number;
  readonly commandId: string;
  /** The template of the rules; null: they were set on the account. */
  readonly template: TemplateVersion | null;
}

/** The state of the rules of one account, in version `version`, at the checkpoint. */
export interface StoredState extends AccountName {
  readonly version: number;
  readonly state: AccountState;
}

/** What the owner of a partition begins with. */
export interface PartitionStart {
  /** Proves the ownership: an owner with a lower token changes nothing. */
  readonly token: number;
  /** The states include the valuations below this offset. */
  readonly nextOffset: number;
  /** Whether the topic is another one than at the last checkpoint. */
  readonly isNewTopic: boolean;
  readonly states: readonly StoredState[];
  /** The active versions that are not older than the version of their account's state. */
  readonly versions: readonly RuleVersion[];
}

/** An alert with the valuation that made it. */
export interface RecordedAlert extends AccountName {
  readonly id: string;
  readonly organizationId: string;
  readonly accountId: string;
  readonly alert: Alert;
  readonly rule: RiskRule;
  readonly ruleVersion: number;
  readonly values: AccountValues;
  /** Null: the values of the account when its rules were set. */
  readonly valuation: { readonly partition: number; readonly offset: number } | null;
  /** Null for an action without a command. */
  readonly commandId: string | null;
}

/** Thrown when another process owns the partition now. */
export class NotOwner extends Error {
  override readonly name = "NotOwner";
}

/** Rules, states and alerts in PostgreSQL. */
export interface EvaluationStore {
  /** Makes this process the owner of a partition. */
  acquire(partition: number, topicId: string): Promise<PartitionStart>;
  /** The versions of these partitions that are not active yet, oldest first, at most `limit`. */
  waiting(partitions: readonly number[], limit: number): Promise<readonly RuleVersion[]>;
  /** Stores a position and the states that changed. @throws NotOwner */
  checkpoint(owner: PartitionOwner, nextOffset: number, states: readonly StoredState[]): Promise<void>;
  /** Locks the partition for its owner until the transaction ends. @throws NotOwner */
  lockOwned(transaction: WorkTransaction, owner: PartitionOwner): Promise<void>;
  /** Stores alerts; returns the ids of those that were not stored before. */
  record(transaction: WorkTransaction, alerts: readonly RecordedAlert[], at: string): Promise<ReadonlySet<string>>;
  /** Marks a version as active from `offset` on. Returns false if it is active from another one. */
  activate(transaction: WorkTransaction, version: RuleVersion, offset: number, at: string): Promise<boolean>;
  /** Deletes a version that waits, and whose command is final. */
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
  readonly initialBalanceMinor: number;
  /** Null: the account has no values yet. */
  readonly valuation: Valuation | null;
}

/**
 * Reads an account; null if there is no such account, or its deletion has begun. Rejects while its
 * values are unavailable.
 */
export type ReadAccount = (account: AccountName) => Promise<AccountForRisk | null>;

/** The newest active version of an account's rules, as the API shows it. */
export type ReadRules = (account: AccountName) => Promise<AccountRiskRules>;

/** A breach, and its key in the list. */
export interface ListedBreach {
  readonly breach: RiskBreach;
  readonly key: CursorKey<"breaches">;
}

/** Reads the breaches of a page, and one more if there is one. */
export type ReadBreaches = (
  account: AccountName,
  query: ListRiskBreachesQuery,
  start: PageStart<"breaches">,
) => Promise<ReadPage<ListedBreach>>;
