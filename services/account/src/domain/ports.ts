import type { WorkTransaction } from "@kapi/commands";
import type {
  AccountMetricsFrame,
  CommandErrorCode,
  Currency,
  ListTradingAccountsQuery,
  ServerEntry,
  Valuation,
} from "@kapi/contracts";

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
}

/** What became of an opening on the trading server; each is final. */
export type OpeningOutcome =
  | { readonly kind: "opened"; readonly openedAt: string }
  | { readonly kind: "refused"; readonly errorCode: CommandErrorCode; readonly reason: string }
  | { readonly kind: "closed" };

/** The trading server as this service needs it. Both reject where there is no clear answer. */
export interface AccountOpener {
  /** Opens accounts; one outcome each, in order. An opening that was sent before gives its first outcome again. */
  open(serverId: string, openings: readonly AccountOpening[]): Promise<OpeningOutcome[]>;
  /** What became of openings that were perhaps sent; one that was not can never be opened afterwards. */
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
  /** For each pair, whether such an account exists (in any state but deleted). */
  existing(accounts: readonly AccountName[]): Promise<boolean[]>;
  /** One page, newest first, and how many there are in all. */
  page(serverId: string, query: PageQuery): Promise<{ accounts: Account[]; total: number }>;
  /** All accounts of a server that match, newest first, in chunks. */
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
  /** Keeps the entry if it is newer than what is known; a server's first entry also gives its configuration. */
  save(entry: ServerEntry): Promise<void>;
  /** Servers whose trading server was not yet told of their configuration. */
  unconfigured(): Promise<{ configuration: ServerConfiguration; configurationVersion: number }[]>;
  /** Notes that the trading server has the configuration of that version. */
  configured(serverId: string, configurationVersion: number): Promise<void>;
}

/** Where creations are taken up: gives numbers and writes the accounts as `pending`. */
export interface CreationBook {
  /** One account per creation, in order; a creation taken up before gets its account again. */
  takeUp(creations: readonly AccountCreation[]): Promise<Account[]>;
  /** Moves pending accounts to their end inside `transaction`; gives the accounts that were moved. */
  close(transaction: WorkTransaction, ends: readonly CreationEnd[]): Promise<Account[]>;
}

/** The live values of accounts as the metrics service last saw them; null for one without a sample. */
export interface Samples {
  latest(serverId: string, accountNumbers: readonly string[]): Promise<(AccountMetricsFrame | null)[]>;
}

/** The live values of an account on the trading server; null where it has no such account. */
export interface Valuations {
  current(serverId: string, accountNumber: string): Promise<Valuation | null>;
}
