import type { WorkTransaction } from "@kapi/commands";
import type {
  AccountMetricsFrame,
  AccountStatus,
  Actor,
  CommandErrorCode,
  Currency,
  CursorQuery,
  ListTradingAccountsQuery,
  Pagination,
  Quote,
  RiskTemplateSelection,
  ServerEntry,
  Valuation,
  AccountRef,
} from "@kapi/contracts";
import type { Caller } from "@kapi/http";

import type { AccountEffect, ChangedAccount, ChangeOutcome, ReferencedChange } from "./account-change.ts";
import type { Account, AccountCreation, ServerConfiguration } from "./account.ts";

/** An account to open; `commandId` is the reference of the change. */
export interface AccountOpening {
  readonly commandId: string;
  readonly accountNumber: string;
  readonly accountName: string;
  readonly leverage: number;
  readonly currency: Currency;
  readonly initialBalanceMinor: number;
  readonly tradingPassword: string;
  readonly investorPassword: string;
  /** The caller, if known. */
  readonly createdBy?: Actor | undefined;
  /** The span of the opening, if its trace is sampled. */
  readonly traceparent?: string | undefined;
}

/** The final outcome of an opening. */
export type OpeningOutcome =
  | { readonly kind: "opened"; readonly openedAt: string }
  | { readonly kind: "refused"; readonly errorCode: CommandErrorCode; readonly reason: string }
  | { readonly kind: "closed" };

/**
 * Opens accounts on trading servers. Both methods reject if the call is not sent, or if the trading
 * server gives no clear answer.
 */
export interface AccountOpener {
  /** Opens accounts; returns their outcomes, in order. A repeated opening has its first outcome. */
  open(serverId: string, openings: readonly AccountOpening[]): Promise<OpeningOutcome[]>;
  /**
   * The outcomes of openings that may have been sent. An opening without an outcome is closed: it
   * can never apply.
   */
  settle(serverId: string, commandIds: readonly string[]): Promise<OpeningOutcome[]>;
}

/** The result of a creation, written with the final state of its command. */
export type CreationResult =
  | { readonly managedAccountId: string; readonly move: "activate"; readonly at: string }
  | { readonly managedAccountId: string; readonly move: "fail"; readonly reason: string; readonly at: string };

/** Reads accounts and servers. */
export interface AccountReader {
  /** Null if the server is unknown. A removed server is returned. */
  server(serverId: string): Promise<ServerConfiguration | null>;
  /** Null if the account does not exist or is deleted. */
  account(serverId: string, accountNumber: string): Promise<Account | null>;
  /** The id of each account, in order; null for an account that does not exist or is deleted. */
  ids(accounts: readonly AccountRef[]): Promise<(string | null)[]>;
  /** Accounts of a server, in order; null for each that does not exist or is deleted. */
  records(serverId: string, accountNumbers: readonly string[]): Promise<(Account | null)[]>;
  /** Name and creation time of each account, in order; null if it does not exist or is deleted. */
  descriptions(accounts: readonly AccountRef[]): Promise<(AccountDescription | null)[]>;
  /**
   * Number of accounts of each server by status, in the order of the servers. Deleted accounts are
   * not counted. A status without accounts is left out.
   */
  counts(serverIds: readonly string[]): Promise<Partial<Record<AccountStatus, number>>[]>;
  /** One page, newest first. */
  page(serverId: string, query: PageQuery): Promise<{ accounts: Account[]; pagination: Pagination }>;
  /**
   * All matching accounts of a server, newest first, in chunks. Each account comes once. An account
   * that matches during the whole read is never missing. Holds no database resources between
   * chunks.
   */
  all(serverId: string, filter: AccountFilter): AsyncIterable<Account[]>;
  /** How many accounts the selection of a risk template matches. */
  countSelected(serverId: string, selection: RiskTemplateSelection): Promise<number>;
  /**
   * Numbers of the accounts that the selection of a risk template matches: the first `limit`
   * numbers above `after`, in order.
   */
  selected(serverId: string, selection: RiskTemplateSelection, after: string, limit: number): Promise<string[]>;
}

export type AccountDescription = Pick<Account, "accountName" | "createdAt">;

export type AccountFilter = Pick<ListTradingAccountsQuery, "status" | "search">;
export type PageQuery = AccountFilter & CursorQuery;

/** Stores servers from the directory. */
export interface ServerRepository {
  /** Stores a newer entry. Only the first entry of a server sets its configuration. */
  save(entry: ServerEntry): Promise<void>;
  /**
   * Ids of up to 100 servers whose current configuration is to be sent, without removed servers:
   * the first ones after the id `after`, in the order of ids. `after` null: from the first server.
   */
  unconfigured(after: string | null): Promise<string[]>;
  /**
   * Sends the current configuration with `configure` if it was not sent yet, and records the send.
   * After concurrent or failed sends the configuration is sent again, because an older
   * configuration may have arrived last. Rejects as `configure` does.
   */
  sendConfiguration(serverId: string, configure: ConfigureServer): Promise<void>;
  /**
   * Applies `change` to the locked configuration, with an audit entry for `by` if a field changes.
   * Null if the server does not exist or is removed.
   */
  reconfigure(
    serverId: string,
    change: (now: ServerConfiguration) => Pick<ServerConfiguration, ConfigurableField>,
    by: Caller | null,
  ): Promise<ServerConfiguration | null>;
}

/** The fields that a caller may change. */
export type ConfigurableField = "currency" | "supportedLeverage" | "defaultLeverage";

/** Sends a server's configuration to its trading server. */
export type ConfigureServer = (configuration: ServerConfiguration) => Promise<void>;

/** Assigns account numbers and inserts accounts as `pending`. */
export interface CreationRepository {
  /** Returns one account for each creation, in order. A repeated creation returns its account. */
  findOrCreate(creations: readonly AccountCreation[]): Promise<Account[]>;
  /** The accounts with these ids, also deleted ones, in any order; unknown ids are left out. */
  read(managedAccountIds: readonly string[]): Promise<Account[]>;
  /** Makes pending accounts `active` or `failed`; returns the accounts that it changed. */
  close(transaction: WorkTransaction, results: readonly CreationResult[]): Promise<Account[]>;
}

/** A command on an existing account. */
export interface StartedCommand {
  readonly commandId: string;
  readonly accountNumber: string;
}

/** A finished command on an existing account; `effect` is null if nothing was applied. */
export interface FinishedCommand {
  readonly commandId: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly effect: AccountEffect | null;
}

/** Existing accounts, as commands read and change them. */
export interface AccountRepository {
  /**
   * Locks accounts until the end of `transaction`. Needed before several statements that lock
   * accounts, because each statement keeps the lock order only for its own accounts.
   */
  lock(transaction: WorkTransaction, accountIds: readonly string[]): void;
  /**
   * Records the running command of each account, so that a deletion waits for it. Returns the
   * accounts in order; null for unknown ones. Pending, deleting and deleted accounts are returned
   * without recording.
   */
  startCommands(serverId: string, commands: readonly StartedCommand[]): Promise<(Account | null)[]>;
  /** The accounts, including deleted ones, in order; null for unknown ones. */
  read(serverId: string, accountNumbers: readonly string[]): Promise<(Account | null)[]>;
  /**
   * Writes effects in the transaction that makes their commands final. Returns each account as it
   * is after its effect, by command id. Left out are commands without an effect, and commands on
   * pending, deleting and deleted accounts, which stay unchanged.
   */
  finishCommands(
    transaction: WorkTransaction,
    commands: readonly FinishedCommand[],
  ): Promise<ReadonlyMap<string, ChangedAccount>>;
}

/**
 * Changes accounts on trading servers. Both methods reject if the call is not sent, or if the
 * trading server gives no clear answer.
 */
export interface AccountChanger {
  /**
   * Sends changes; returns their outcomes, in order. A repeated change has its first final outcome.
   */
  change(serverId: string, changes: readonly ReferencedChange[]): Promise<ChangeOutcome[]>;
  /**
   * The outcome of each reference. A reference without an outcome is closed: it can never apply.
   */
  settle(serverId: string, references: readonly string[]): Promise<ChangeOutcome[]>;
}

/**
 * Data of an account in other services. Both methods resolve when no read shows the data any more,
 * or if there is no data.
 */
export interface ExternalAccountData {
  deleteFromFinance(serverId: string, accountNumber: string): Promise<void>;
  deleteFromMetrics(serverId: string, accountNumber: string): Promise<void>;
}

/** The ledger, of the finance service. */
export interface Ledger {
  /** Books the account's events up to the trading server's sequence. Rejects after a timeout. */
  catchUp(account: AccountRef): Promise<void>;
}

/** The state that a deletion starts from. */
export interface DeletionState {
  readonly account: Account;
  /** The last started command, including a creation; null without one. */
  readonly lastCommand: string | null;
  /**
   * State of that command: `running` during an attempt, `queued` between attempts, null if it is
   * final. Also null in every result of `claimDue`, which does not read the command.
   */
  readonly open: "running" | "queued" | null;
  /** How often the trading server rejected the deletion. */
  readonly rejections: number;
  /** The caller of the deletion; null before it starts, or if unknown. */
  readonly createdBy: Actor | null;
}

/** Accounts that are being deleted. */
export interface DeletionRepository {
  /** The account's state; null if it never existed. */
  find(serverId: string, accountNumber: string): Promise<DeletionState | null>;
  /**
   * Marks the account `deleting` with the caller; false if the account is already deleting or
   * deleted, or another command started since `find`.
   */
  start(state: DeletionState): Promise<boolean>;
  /** Marks an account `deleting` that the queued deletion has deleted on the trading server. */
  markDeleting(accountId: string): Promise<void>;
  /**
   * Publishes `account.created` once, if the account's creation was not completed before its
   * deletion.
   */
  announceCreation(transaction: WorkTransaction, accountId: string, at: string): Promise<void>;
  /** Records a rejection by the trading server: the next attempt has another reference. */
  noteRejection(state: DeletionState): Promise<void>;
  /** Claims up to `limit` due deletions; each is due again later, with increasing delay. */
  claimDue(limit: number): Promise<DeletionState[]>;
  /**
   * Sequence of the last booked event of a deleting account; null if its events are no longer
   * booked.
   */
  bookedSequence(account: AccountRef): Promise<number | null>;
  /**
   * Counts an attempt that booked nothing after `bookedSequence`, and stores the gap of the
   * account. Returns the number of such attempts in a row; 0 if something was booked meanwhile, or
   * the account is not `deleting`.
   */
  noteStall(accountId: string, bookedSequence: number): Promise<number>;
  /** Marks all events of a deleting account as booked: none is published any more. */
  skipEvents(accountId: string): Promise<void>;
  /** Deletes orders, positions and deals, after all events are booked. */
  deleteHistory(serverId: string, accountNumber: string): Promise<void>;
  /**
   * Marks those accounts `deleted` that are `deleting`, and records `account.deleted` for each. No
   * trading event of these accounts is booked afterwards.
   */
  finish(transaction: WorkTransaction, accountIds: readonly string[]): Promise<void>;
}

/** The last live samples from the metrics service; null for an account without one. */
export interface Samples {
  latest(serverId: string, accountNumbers: readonly string[]): Promise<(AccountMetricsFrame | null)[]>;
}

/** The current values on the trading server; null if it has no such account. */
export interface Valuations {
  current(serverId: string, accountNumber: string): Promise<Valuation | null>;
}

/** Quotes of a trading server. */
export interface Quotes {
  /**
   * For each symbol the last quote at or before `at`; a symbol without one is left out. Null if
   * this trading server gives no quotes at all.
   */
  at(serverId: string, symbols: readonly string[], at: string): Promise<readonly Quote[] | null>;
}
