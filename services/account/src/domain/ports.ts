import type { WorkTransaction } from "@kapi/commands";
import type {
  AccountMetricsFrame,
  Actor,
  CommandErrorCode,
  Currency,
  ListTradingAccountsQuery,
  ServerEntry,
  Valuation,
} from "@kapi/contracts";
import type { Caller } from "@kapi/http";

import type { AccountEffect, ChangedAccount, ChangeOutcome, ReferencedChange } from "./account-change.ts";
import type { Account, AccountCreation, ServerConfiguration } from "./account.ts";

/** An account to open on a trading server; `commandId` is the reference of the change. */
export interface AccountOpening {
  readonly commandId: string;
  readonly accountNumber: string;
  readonly accountName: string;
  readonly leverage: number;
  readonly currency: Currency;
  readonly initialBalanceMinor: number;
  readonly tradingPassword: string;
  readonly investorPassword: string;
  /** Who asked for it, where that is known. */
  readonly createdBy?: Actor | undefined;
  /** The span that the account is opened in, if it belongs to a trace. */
  readonly traceparent?: string | undefined;
}

/** What became of an opening on the trading server; each is final. */
export type OpeningOutcome =
  | { readonly kind: "opened"; readonly openedAt: string }
  | { readonly kind: "refused"; readonly errorCode: CommandErrorCode; readonly reason: string }
  | { readonly kind: "closed" };

/** The trading server as this service needs it. Both reject where there is no clear answer. */
export interface AccountOpener {
  /**
   * Opens accounts; one outcome each, in order. An opening that was sent before gives its first
   * outcome again.
   */
  open(serverId: string, openings: readonly AccountOpening[]): Promise<OpeningOutcome[]>;
  /**
   * What became of openings that were perhaps sent; one that was not can never be opened
   * afterwards.
   */
  settle(serverId: string, commandIds: readonly string[]): Promise<OpeningOutcome[]>;
}

/** The end of a creation, to be written with the end of its command. */
export type CreationEnd =
  | { readonly managedAccountId: string; readonly move: "activate"; readonly at: string }
  | { readonly managedAccountId: string; readonly move: "fail"; readonly reason: string; readonly at: string };

/** Accounts and servers in this service's own schema. */
export interface AccountReader {
  server(serverId: string): Promise<ServerConfiguration | null>;
  account(serverId: string, accountNumber: string): Promise<Account | null>;
  /** The id of each account, in order; null where there is none (deleted ones are none). */
  ids(accounts: readonly AccountName[]): Promise<(string | null)[]>;
  /** One page, newest first, and how many there are in all. */
  page(serverId: string, query: PageQuery): Promise<{ accounts: Account[]; total: number }>;
  /**
   * All accounts of a server that match, newest first, in chunks: each account once, and every one
   * that is there and matches from the first chunk to the last. Holds nothing in the database
   * between two chunks.
   */
  all(serverId: string, filter: AccountFilter): AsyncIterable<Account[]>;
}

/** What tells an account from all others. */
export interface AccountName {
  readonly serverId: string;
  readonly accountNumber: string;
}

export type AccountFilter = Pick<ListTradingAccountsQuery, "status" | "search">;
export type PageQuery = AccountFilter & { readonly page: number; readonly limit: number };

/** Servers as the directory brings them. */
export interface ServerRegister {
  /**
   * Keeps the entry if it is newer than what is known; a server's first entry also gives its
   * configuration.
   */
  save(entry: ServerEntry): Promise<void>;
  /** Ids of servers whose trading server was not yet told of their configuration. */
  unconfigured(): Promise<string[]>;
  /**
   * Has `configure` tell the trading server the configuration as it is now, unless it was told, and
   * notes it. Where two told it at once, or one of them got no answer, it is told again: an older
   * one may have come last. Rejects as `configure` does.
   */
  tell(serverId: string, configure: ConfigureServer): Promise<void>;
  /**
   * Writes what `change` makes of the configuration, with the row locked; null where there is no
   * such server (any more). A change is recorded for the audit log, with who asks for it.
   */
  reconfigure(
    serverId: string,
    change: (now: ServerConfiguration) => Pick<ServerConfiguration, ConfigurableField>,
    by: Caller | null,
  ): Promise<ServerConfiguration | null>;
}

/** What a caller may change of a server. */
export type ConfigurableField = "currency" | "supportedLeverage" | "defaultLeverage";

/** Tells a trading server how one of its servers is configured. */
export type ConfigureServer = (configuration: ServerConfiguration) => Promise<void>;

/** Where creations are taken up: gives numbers and writes the accounts as `pending`. */
export interface CreationBook {
  /** One account per creation, in order; a creation taken up before gets its account again. */
  takeUp(creations: readonly AccountCreation[]): Promise<Account[]>;
  /** Those of the accounts that were taken up, in no particular order. */
  read(managedAccountIds: readonly string[]): Promise<Account[]>;
  /**
   * Moves pending accounts to their end inside `transaction`; gives the accounts that were moved.
   */
  close(transaction: WorkTransaction, ends: readonly CreationEnd[]): Promise<Account[]>;
}

/** A command on an existing account. */
export interface BegunCommand {
  readonly commandId: string;
  readonly accountNumber: string;
}

/** The end of a command on an existing account; `effect` null where nothing was applied. */
export interface EndedCommand {
  readonly commandId: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly effect: AccountEffect | null;
}

/** The rows of existing accounts, as commands read and change them. */
export interface AccountBook {
  /**
   * Locks accounts until the end of `transaction`, before it changes them with several statements:
   * each statement keeps to the order of locks only by itself.
   */
  lock(transaction: WorkTransaction, accountIds: readonly string[]): void;
  /**
   * Notes on each account that a command begins, so that a deletion waits for it; gives the
   * accounts as they are, in order, null for one that there never was. One that is pending, being
   * deleted or deleted is given and not noted.
   */
  begin(serverId: string, commands: readonly BegunCommand[]): Promise<(Account | null)[]>;
  /** The accounts as they are, deleted ones too, in order; null for one that there never was. */
  read(serverId: string, accountNumbers: readonly string[]): Promise<(Account | null)[]>;
  /**
   * Writes the effects of commands inside the transaction that makes them final; gives for each
   * command id the account afterwards. An account that is being deleted or deleted stays as it is,
   * and is left out.
   */
  end(transaction: WorkTransaction, commands: readonly EndedCommand[]): Promise<ReadonlyMap<string, ChangedAccount>>;
}

/** Changes of accounts on the trading server. Both reject where there is no clear answer. */
export interface AccountChanger {
  /**
   * Carries changes out; one outcome each, in order. A change that was sent before gives its first
   * outcome again.
   */
  change(serverId: string, changes: readonly ReferencedChange[]): Promise<ChangeOutcome[]>;
  /** The outcome of each reference; one that has none is closed, so that it can never apply. */
  settle(serverId: string, references: readonly string[]): Promise<ChangeOutcome[]>;
}

/**
 * What other services know of an account; both resolve once it is gone for good, also where it
 * never was.
 */
export interface AccountTraces {
  inFinance(serverId: string, accountNumber: string): Promise<void>;
  inMetrics(serverId: string, accountNumber: string): Promise<void>;
}

/** An account as a deletion finds it. */
export interface DeletionState {
  readonly account: Account;
  /** The command that was last begun on it, a creation included; null where there was none. */
  readonly lastCommand: string | null;
  /**
   * Whether that command is not final yet: `running` while an attempt is under way, as far as can
   * be seen.
   */
  readonly open: "running" | "queued" | null;
  /** How often the trading server refused the deletion. */
  readonly refusals: number;
  /** Who asked for the deletion; null before it is begun, and where that is not known. */
  readonly createdBy: Actor | null;
}

/** The rows of accounts that are being deleted. */
export interface DeletionBook {
  /** The account as it is, or null where there never was one. */
  look(serverId: string, accountNumber: string): Promise<DeletionState | null>;
  /**
   * Writes `deleting` and who asked for it, unless the account was moved or another command begun
   * since it was looked at; false then.
   */
  start(state: DeletionState): Promise<boolean>;
  /**
   * Writes `deleting` on an account that the trading server has deleted, whatever it was before.
   */
  markDeleting(accountId: string): Promise<void>;
  /**
   * Announces, once, that an account was created `at` whose creation did not end before its
   * deletion.
   */
  announceCreation(transaction: WorkTransaction, accountId: string, at: string): Promise<void>;
  /** Notes a refusal of the trading server: the next try has another reference. */
  refused(state: DeletionState): Promise<void>;
  /**
   * At most `limit` accounts that are `deleting` and due to be looked at; each is due again later,
   * and later each time.
   */
  takeDue(limit: number): Promise<DeletionState[]>;
  /**
   * Sequence of the last booked event of an account that is `deleting`; null where its events are
   * not booked any more.
   */
  bookedSequence(account: AccountName): Promise<number | null>;
  /**
   * Counts a try that booked nothing after `bookedSequence`; tells how many there were in a row.
   * Notes that the account's events wait. 0 where something was booked meanwhile, or the account is
   * not `deleting` any more.
   */
  noteStall(accountId: string, bookedSequence: number): Promise<number>;
  /**
   * Has all events of an account that is `deleting` count as booked: none of them becomes a fact
   * any more.
   */
  skipEvents(accountId: string): Promise<void>;
  /** Removes orders, positions and deals, once all events are booked. */
  deleteHistory(serverId: string, accountNumber: string): Promise<void>;
  /**
   * Marks those of the accounts that are `deleting` as `deleted`, with the fact of it; no event is
   * booked afterwards.
   */
  finish(transaction: WorkTransaction, accountIds: readonly string[]): Promise<void>;
}

/**
 * The live values of accounts as the metrics service last saw them; null for one without a sample.
 */
export interface Samples {
  latest(serverId: string, accountNumbers: readonly string[]): Promise<(AccountMetricsFrame | null)[]>;
}

/** The live values of an account on the trading server; null where it has no such account. */
export interface Valuations {
  current(serverId: string, accountNumber: string): Promise<Valuation | null>;
}
