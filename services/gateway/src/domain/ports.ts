import type { Readable } from "node:stream";

import type {
  ACCOUNT_ROUTES,
  AccountMetricSnapshot,
  Command,
  AnyCommandMessage,
  DealDigests,
  InternalRoute,
  Issue,
  ListAccountMetricsQuery,
  ListCommandsQuery,
  ListCreditUsageQuery,
  ListDealsQuery,
  ListDigestsQuery,
  ListOrdersQuery,
  ListPositionsQuery,
  IntervalEvidenceQuery,
  ListRiskBreachesQuery,
  ListTradingAccountsQuery,
  ListTransactionsQuery,
  RiskTemplateSelection,
  Server,
  TransactionDigests,
  UpdateServerConfigurationBody,
} from "@kapi/contracts";
import type { ApiError, Caller } from "@kapi/http";
import type { z } from "zod";

/** A command that command-status has. */
export interface KnownCommand {
  readonly fingerprint: string;
  readonly organizationId: string;
  /** Id of the derivation key of its generated passwords; null without a generated password. */
  readonly derivationKeyId: string | null;
  readonly command: Command;
}

/** The query of listCommands without `wait`, which the gateway handles itself. */
export type CommandsQuery = Omit<ListCommandsQuery, "wait">;

/**
 * The service that owns the states of commands. Every function throws DependencyError if the
 * service is unavailable.
 */
export interface CommandStatus {
  /**
   * The exact response body of getCommand, or null if command-status does not have the command
   * (yet).
   */
  readonly read: (organizationId: string, commandId: string) => Promise<Buffer | null>;
  /**
   * Like `read`, but resolves when the command is final, or after `timeoutMs` (an integer). Returns
   * "no room" if too many requests wait at command-status. If `signal` is aborted, the wait in
   * command-status ends, and the promise rejects.
   */
  readonly wait: (
    organizationId: string,
    commandId: string,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ) => Promise<Buffer | null | "no room">;
  readonly lookUp: (commandId: string) => Promise<KnownCommand | null>;
  /**
   * The exact response body of listCommands; null if it is too large and must be streamed. Throws
   * ApiError VALIDATION_FAILED if too many commands match.
   */
  readonly list: (organizationId: string, serverId: string, query: CommandsQuery) => Promise<Buffer | null>;
  /** The response body of listCommands as a stream, of any size. */
  readonly stream: (organizationId: string, serverId: string, query: CommandsQuery) => Promise<Readable>;
}

/**
 * Reads one page of an account's records: the exact response body, or null if the account does not
 * exist.
 */
export type ReadRecords<Q> = (serverId: string, accountNumber: string, query: Q) => Promise<Buffer | null>;

/**
 * Stands for the id of an existing account while the account service is of release 0.1.0, which
 * returns no ids.
 */
export const UNKNOWN_ID = "";

/**
 * The service that owns servers and accounts. Every function throws DependencyError if the service
 * is unavailable.
 */
export interface Accounts {
  /** The exact response body of getServerConfiguration. */
  readonly configurationResponse: (serverId: string) => Promise<Buffer>;
  readonly configuration: (serverId: string) => Promise<Server>;
  /**
   * The exact response body of updateServerConfiguration, or the issues of the resulting
   * configuration.
   */
  readonly changeConfiguration: (
    serverId: string,
    change: UpdateServerConfigurationBody,
    caller: Caller,
  ) => Promise<{ readonly body: Buffer } | { readonly issues: readonly Issue[] }>;
  /** The exact response body of getTradingAccount, or null if the account does not exist. */
  readonly accountResponse: (serverId: string, accountNumber: string) => Promise<Buffer | null>;
  /**
   * The exact response body of listTradingAccounts: a Buffer for a page, a stream for all accounts.
   * Throws ApiError TOO_MANY_CONCURRENT_REQUESTS if the organization uses its whole share at the
   * account service.
   */
  readonly list: (serverId: string, query: ListTradingAccountsQuery) => Promise<Buffer | Readable>;
  /**
   * The id of each account, in order, or {@link UNKNOWN_ID}; null if the account does not exist.
   */
  readonly ids: (
    accounts: readonly { serverId: string; accountNumber: string }[],
  ) => Promise<readonly (string | null)[]>;
  /** How many accounts of the server the selection of a risk template matches. */
  readonly countSelected: (serverId: string, selection: RiskTemplateSelection) => Promise<number>;
  readonly orders: ReadRecords<ListOrdersQuery>;
  /**
   * With `status=open` never stale. If fresh positions cannot be read, throws: ApiError
   * TOO_MANY_CONCURRENT_REQUESTS when too many calls of the organization wait, else
   * DependencyError.
   */
  readonly positions: ReadRecords<ListPositionsQuery>;
  readonly deals: ReadRecords<ListDealsQuery>;
  /**
   * The positions that were open at a time (ISO 8601); null if the account does not exist. Never
   * stale, as `positions`.
   */
  readonly openPositions: (serverId: string, accountNumber: string, at: string) => Promise<OpenPositionsAt | null>;
  /**
   * Deletes the account, and removes or hides its history; succeeds also if the account was deleted
   * before. The exact response body, or null if the account never existed. `caller` is recorded in
   * the audit log.
   */
  readonly deleteNow: (serverId: string, accountNumber: string, caller: Caller) => Promise<Buffer | null>;
}

/**
 * The exact response body of listTradingAccountTransactions. Null only for a deleted account: an
 * account that finance does not know has an empty page. Throws DependencyError if finance is
 * unavailable.
 */
export type ReadTransactions = ReadRecords<ListTransactionsQuery>;

/** The balance of an account at a time (ISO 8601); null if the account was deleted. */
export type ReadBalance = (serverId: string, accountNumber: string, at: string) => Promise<number | null>;

/**
 * The last stored snapshot of an account before a time: the minute of the snapshot began before
 * `before` (ISO 8601). Null if there is none.
 */
export type ReadLastSnapshot = (
  organizationId: string,
  serverId: string,
  accountNumber: string,
  before: string,
) => Promise<Pick<AccountMetricSnapshot, "equity" | "measuredAt"> | null>;

/** The positions of an account that were open at a time, with its currency and creation time. */
export type OpenPositionsAt = z.output<typeof ACCOUNT_ROUTES.readOpenPositions.answer>;

/**
 * The exact response body of listAccountMetrics. Throws DependencyError if metrics is unavailable.
 */
export type ReadSnapshots = (
  organizationId: string,
  serverId: string,
  query: ListAccountMetricsQuery,
) => Promise<Buffer>;

/**
 * The exact response body of listCreditUsage. Throws DependencyError if organization is
 * unavailable.
 */
export type ReadCreditUsage = (organizationId: string, query: ListCreditUsageQuery) => Promise<Buffer>;

/** The account service's answer for a day whose deal digests it has made. */
export type DealDigestsOfAccounts = Extract<DealDigests, { state: "made" }>;

/**
 * The two parts of daily digests: transactions from finance, deals from the account service. Each
 * function throws DependencyError if its service is unavailable.
 */
export interface Digests {
  transactions(serverId: string, query: ListDigestsQuery): Promise<TransactionDigests>;
  /** `timeoutMs`: the deadline of the read. */
  deals(serverId: string, date: string, accountNumbers: readonly string[], timeoutMs: number): Promise<DealDigests>;
}

/** Exact response bodies of the risk service. Throws DependencyError if it is unavailable. */
export interface Risk {
  rules(serverId: string, accountNumber: string): Promise<Buffer>;
  breaches(serverId: string, accountNumber: string, query: ListRiskBreachesQuery): Promise<Buffer>;
  /** @throws ApiError BREACH_NOT_FOUND, EVIDENCE_PENDING or EVIDENCE_NOT_FOUND. */
  breachEvidence(serverId: string, accountNumber: string, breachId: string): Promise<Buffer>;
  /** @throws ApiError for an interval that cannot be read. */
  intervalEvidence(serverId: string, accountNumber: string, query: IntervalEvidenceQuery): Promise<Buffer>;
  templates(serverId: string): Promise<Buffer>;
  /** Null if the server has no such template. */
  template(serverId: string, templateName: string): Promise<Buffer | null>;
}

/**
 * Returns the document with the public keys of evidence. Throws DependencyError if the risk service
 * is unavailable.
 */
export type ReadEvidenceKeys = () => Promise<Buffer>;

/** A request to the webhooks service for an organization. */
export interface WebhooksRequest {
  readonly route: InternalRoute;
  /** Path parameters without the organization. */
  readonly params: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Recorded in the audit log. */
  readonly caller: Caller;
}

/**
 * The service that owns webhooks: its exact response body, or its rejection of the request. Throws
 * DependencyError if the service is unavailable.
 */
export type Webhooks = (
  organizationId: string,
  request: WebhooksRequest,
) => Promise<{ readonly body: Buffer } | { readonly rejection: ApiError }>;

/** A message is certainly not in the log, and will not appear in it later. */
export class NotPublished extends Error {
  override readonly name = "NotPublished";
}

/** The logs of commands. */
export interface CommandLog {
  /**
   * Publishes a message, with the text `value`, to the log of its operation.
   * @throws NotPublished if the message is certainly not in the log; ApiError
   * DEPENDENCY_UNAVAILABLE if that is unknown.
   */
  readonly publish: (message: AnyCommandMessage, value: string) => Promise<void>;
}

/**
 * Available credits of an organization, for error responses of requests that were not admitted.
 */
export interface Wallets {
  /**
   * The available credits, for the answer of a request that was rejected with `error`. 0 without a
   * wallet; null if they are unknown, or must not be shown.
   */
  readonly available: (organizationId: string, error: unknown) => Promise<number | null>;
}
