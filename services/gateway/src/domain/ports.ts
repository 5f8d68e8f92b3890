import type { Readable } from "node:stream";

import type {
  Command,
  AnyCommandMessage,
  InternalRoute,
  Issue,
  ListAccountMetricsQuery,
  ListCommandsQuery,
  ListPositionsQuery,
  ListTradingAccountsQuery,
  PageQuery,
  Server,
  UpdateServerConfigurationBody,
} from "@kapi/contracts";
import type { ApiError, Caller } from "@kapi/http";

/** A command as command-status knows it. */
export interface KnownCommand {
  readonly fingerprint: string;
  readonly organizationId: string;
  /** The key of its generated passwords; null where it has none. */
  readonly derivationKeyId: string | null;
  readonly command: Command;
}

/**
 * The service that owns the states of commands. Every function throws DependencyError where it is
 * away.
 */
export interface CommandStatus {
  /**
   * The exact body of the answer to getCommand, or null where the command is not known there (yet).
   */
  readonly read: (organizationId: string, commandId: string) => Promise<Buffer | null>;
  /**
   * The same once the command is final, or as it is after `timeoutMs` (a whole number); "no room"
   * where too many requests wait there. Rejects when `signal` is aborted, and ends the wait there
   * too.
   */
  readonly wait: (
    organizationId: string,
    commandId: string,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ) => Promise<Buffer | null | "no room">;
  readonly lookUp: (commandId: string) => Promise<KnownCommand | null>;
  /** The exact body of the answer to listCommands; null where it is too large to be given whole. */
  readonly list: (organizationId: string, serverId: string, query: ListCommandsQuery) => Promise<Buffer | null>;
  /** The same body of any size, as it comes. */
  readonly stream: (organizationId: string, serverId: string, query: ListCommandsQuery) => Promise<Readable>;
}

/**
 * Reads one page of an account's records: the exact body of the answer, or null where there is no
 * such account.
 */
export type ReadRecords<Q> = (serverId: string, accountNumber: string, query: Q) => Promise<Buffer | null>;

/** Id of an account that exists, where the account service is of release 0.1.0 and tells no ids. */
export const UNKNOWN_ID = "";

/**
 * The service that owns servers and accounts. Every function throws DependencyError where it is
 * away.
 */
export interface Accounts {
  /** The exact body of the answer to getServerConfiguration. */
  readonly configurationBytes: (serverId: string) => Promise<Buffer>;
  readonly configuration: (serverId: string) => Promise<Server>;
  /**
   * The exact body of the answer to updateServerConfiguration, or what the configuration that would
   * result has wrong.
   */
  readonly changeConfiguration: (
    serverId: string,
    change: UpdateServerConfigurationBody,
    caller: Caller,
  ) => Promise<{ readonly body: Buffer } | { readonly issues: readonly Issue[] }>;
  /** The exact body of the answer to getTradingAccount, or null where there is no such account. */
  readonly accountBytes: (serverId: string, accountNumber: string) => Promise<Buffer | null>;
  /**
   * The exact body of the answer to listTradingAccounts: a page whole, all accounts as they come.
   * Throws ApiError TOO_MANY_CONCURRENT_REQUESTS where the organization has its share there.
   */
  readonly list: (serverId: string, query: ListTradingAccountsQuery) => Promise<Buffer | Readable>;
  /** The id of each account, in order, or {@link UNKNOWN_ID}; null for no such account. */
  readonly ids: (
    accounts: readonly { serverId: string; accountNumber: string }[],
  ) => Promise<readonly (string | null)[]>;
  readonly orders: ReadRecords<PageQuery>;
  /** With `status=open` never stale: it fails where it cannot be fresh. */
  readonly positions: ReadRecords<ListPositionsQuery>;
  readonly deals: ReadRecords<PageQuery>;
  /**
   * Deletes the account with everything known of it; also where it was deleted before. The exact
   * body of the answer, or null where it never existed. `caller`: who asks for it.
   */
  readonly deleteNow: (serverId: string, accountNumber: string, caller: Caller) => Promise<Buffer | null>;
}

/**
 * The exact body of the answer to listTradingAccountTransactions. Null only for an account that was
 * deleted: one that finance has not heard of has an empty page. Throws DependencyError where
 * finance is down.
 */
export type ReadTransactions = ReadRecords<PageQuery>;

/**
 * The exact body of the answer to listAccountMetrics. Throws DependencyError where metrics is down.
 */
export type ReadSnapshots = (
  organizationId: string,
  serverId: string,
  query: ListAccountMetricsQuery,
) => Promise<Buffer>;

/**
 * The exact body of the answer to listCreditUsage. Throws DependencyError where organization is
 * down.
 */
export type ReadCreditUsage = (organizationId: string, query: PageQuery) => Promise<Buffer>;

/** A request to the webhooks service for an organization. */
export interface WebhooksRequest {
  readonly route: InternalRoute;
  /** Parameters of the path beside the organization. */
  readonly params: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Who asks. */
  readonly caller: Caller;
}

/**
 * The service that owns webhooks: the exact body of its answer, or what it refuses the request
 * with. Throws DependencyError where it is away.
 */
export type Webhooks = (
  organizationId: string,
  request: WebhooksRequest,
) => Promise<{ readonly body: Buffer } | { readonly refusal: ApiError }>;

/** A message is certainly not in the log, and will not appear there. */
export class NotPublished extends Error {
  override readonly name = "NotPublished";
}

/** The logs of commands. */
export interface CommandLog {
  /**
   * Publishes a message, as the text `value`, to the log of its operation. Where it was not
   * acknowledged it throws {@link NotPublished} if it is certainly not in the log, else ApiError
   * DEPENDENCY_UNAVAILABLE: nobody knows whether it is.
   */
  readonly publish: (message: AnyCommandMessage, value: string) => Promise<void>;
}

/**
 * What an organization has available, in credits; for answers that no admission gave a number to.
 */
export interface Wallets {
  /** 0 without a wallet; null where it cannot be known now. */
  readonly available: (organizationId: string) => Promise<number | null>;
}
