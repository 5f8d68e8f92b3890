import type { Readable } from "node:stream";

import type {
  AccountMetricsFrame,
  ConsoleRole,
  ConsoleServer,
  CreateConsoleKeyBody,
  FormerUser,
  InternalRoute,
  Issue,
  FINANCE_ROUTES,
  ListCommandsQuery,
  ListCreditUsageQuery,
  ListRiskBreachesQuery,
  RiskBreach,
  ListTradingAccountsQuery,
  METRICS_ROUTES,
  Pagination,
  ShownKey,
  ShownServer,
  StoredAccountValues,
  TemplateAccountsQuery,
  TradingAccount,
  UpdateServerConfigurationBody,
  Wallet,
  AccountRef,
} from "@kapi/contracts";
import type { ApiError, Caller } from "@kapi/http";
import type { z } from "zod";

import type { AuditRecord, FetchedAuditRecord } from "./audit.ts";
import type { Invitations, OrganizationSettings, PasswordRecoveries, SecondFactors } from "./people-ports.ts";

/** The rows of a page. */
export interface RowRange {
  readonly limit: number;
  readonly offset: number;
}

/** A person of an organization. */
export type User = {
  readonly userId: string;
  readonly organizationId: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  readonly role: ConsoleRole;
  /** Whether the user has a confirmed second factor. */
  readonly twoFactor: boolean;
  readonly createdAt: string;
  /** Null: the user never signed in, or has not since the release that records sign-ins. */
  readonly lastSignInAt: string | null;
  readonly disabledAt: string | null;
};

/** A user who may sign in, with the password hash. */
export interface ActiveUser extends User {
  readonly organizationName: string;
  readonly passwordHash: string;
  /** Sessions of another version are invalid. */
  readonly sessionVersion: number;
  /** Whether the organization requires a second factor of everybody. */
  readonly requiresTwoFactor: boolean;
  readonly recoveryCodesLeft: number;
}

/** A user to insert. */
export type NewUser = Pick<
  ActiveUser,
  "userId" | "organizationId" | "organizationName" | "email" | "name" | "role" | "passwordHash"
>;

/** Users of all organizations. Look-ups skip disabled users. */
export interface Users {
  /** False: the e-mail address is taken. */
  insert(user: NewUser, nowMs: number): Promise<boolean>;
  byEmail(email: string): Promise<ActiveUser | null>;
  byId(userId: string): Promise<ActiveUser | null>;
  /** Whether a user has this e-mail address, also a disabled one. */
  isTaken(email: string): Promise<boolean>;
  /** Session versions of users who may sign in. */
  sessionVersions(userIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /**
   * Sets a password, deletes the user's link for a forgotten password, and ends all sessions;
   * returns the new session version. Null: no such user, or `from` is given and is no longer the
   * stored password hash.
   */
  setPassword(
    userId: string,
    passwordHash: string,
    from?: string,
  ): Promise<{ readonly organizationId: string; readonly sessionVersion: number } | null>;
  /**
   * Disables a user and ends all sessions; `isNew` is false if the user was disabled already. Null:
   * no such user.
   */
  disable(userId: string, nowMs: number): Promise<{ readonly organizationId: string; readonly isNew: boolean } | null>;
  /** Raises the session version and returns it; null: no such active user. */
  endSessions(organizationId: string, userId: string): Promise<number | null>;
  /** Records the time of a sign-in. */
  signedIn(userId: string, nowMs: number): Promise<void>;
  /**
   * Locks the organization and its active owners until the end of the transaction, and returns the
   * ids of the owners: such transactions of an organization happen one after the other.
   */
  lockOwners(organizationId: string): Promise<string[]>;
  /** Returns the previous role; null: no such active user of the organization. */
  setRole(organizationId: string, userId: string, role: ConsoleRole): Promise<ConsoleRole | null>;
  /** Active users of an organization. */
  countActive(organizationId: string): Promise<number>;
  /** Names of users of the organization by their id, also of disabled ones. */
  names(organizationId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Newest first, including disabled users. */
  page(organizationId: string, range: RowRange): Promise<User[]>;
  count(organizationId: string): Promise<number>;
  /**
   * Adds users of the previous release, and copies newer changes that the previous release made to
   * them. A change is copied only once, so a later change of the console stays. Returns the ids of
   * users that could not be added, because their e-mail address belongs to another user.
   */
  takeOver(former: readonly FormerUser[]): Promise<string[]>;
}

/** One transaction. */
export interface PeopleTransaction {
  readonly users: Users;
  readonly invitations: Invitations;
  readonly secondFactors: SecondFactors;
  readonly recoveries: PasswordRecoveries;
  readonly settings: OrganizationSettings;
  /** Adds audit entries; known event ids are skipped. */
  recordAudit(records: readonly (AuditRecord | FetchedAuditRecord)[]): void;
}

/** Changes of users and their audit entries, in one transaction. */
export interface PeopleStore {
  transaction<T>(work: (tx: PeopleTransaction) => Promise<T>): Promise<T>;
}

/** Users of the previous release, in the organization service. */
export interface FormerUserSource {
  /** Some users that the console does not have, or has in an earlier version. */
  read(): Promise<readonly FormerUser[]>;
  /** Tells the organization service that the console has these versions of the users. */
  moved(users: readonly FormerUser[]): Promise<void>;
}

/**
 * The directory of the organization service. Calls reject with the ApiError with which the service
 * rejects the request, and with a DependencyError if the service is unavailable.
 */
export interface Directory {
  organizationName(organizationId: string): Promise<string>;
  /** Newest first, revoked keys last. At most the first 1,000 keys. */
  keys(organizationId: string): Promise<readonly ShownKey[]>;
  /** Only this answer has `managementKey`. */
  createKey(
    organizationId: string,
    wanted: NewKey,
    by: Caller,
  ): Promise<{ readonly key: ShownKey; readonly managementKey: string }>;
  revokeKey(organizationId: string, keyId: string, by: Caller): Promise<ShownKey>;
  /** Names by id; unknown ids are left out. */
  keyNames(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Oldest first. At most the first 500 servers. */
  servers(organizationId: string): Promise<ServerList>;
  /** Rejects with 404 for a removed server, and for one outside the organization. */
  server(organizationId: string, serverId: string): Promise<ShownServer>;
  setServerStatus(organizationId: string, serverId: string, status: "active" | "disabled", by: Caller): Promise<void>;
}

/** The first servers of an organization, and the number of all its servers. */
export interface ServerList {
  readonly servers: readonly ShownServer[];
  readonly total: number;
}

/** A new management key; it reaches all servers of the organization. */
export type NewKey = z.output<typeof CreateConsoleKeyBody>;

/** Credits of organizations; calls reject as in {@link Directory}. */
export interface Credits {
  balance(organizationId: string): Promise<Wallet>;
  /** Sets the low-balance threshold, in credits. */
  changeThreshold(organizationId: string, credits: number): Promise<Wallet>;
  /** Body of a page of usage, newest first. */
  usage(organizationId: string, query: ListCreditUsageQuery): Promise<Buffer>;
  /** Body of the usage on each of the last `days` days. */
  usageByDay(organizationId: string, days: number): Promise<Buffer>;
}

/**
 * How the person of a session proved who they are. `provider`: they signed in at a provider of
 * OpenID Connect that asks for the second factor itself. `own`: in any other way.
 */
export type SessionProof = "own" | "provider";

/** A stored console session, by the hash of its id. */
export interface ConsoleSessionState {
  readonly userId: string;
  /** Session version of the user when the session was opened; a newer version ends the session. */
  readonly version: number;
  readonly csrfToken: string;
  readonly createdAtMs: number;
  readonly proof: SessionProof;
}

/** A session to open. */
export type NewConsoleSession = Omit<ConsoleSessionState, "createdAtMs"> & {
  readonly address: string;
  /** `User-Agent` of the browser; null: none. */
  readonly userAgent: string | null;
};

/** A session in the list of a person's sessions. */
export interface ListedSession extends Pick<ConsoleSessionState, "version" | "createdAtMs"> {
  readonly sessionHash: string;
  readonly lastUsedAtMs: number;
  readonly address: string | null;
  readonly userAgent: string | null;
}

/**
 * Sessions of the console. `sessionHash` is the SHA-256 of the session id in hex. Only the cookie
 * has the session id.
 */
export interface ConsoleSessions {
  /** Opens a session. If the user then has too many sessions, the oldest ones end. */
  open(sessionHash: string, session: NewConsoleSession): Promise<void>;
  /** Reads a session and restarts its idle time; null: no such session. */
  use(sessionHash: string): Promise<ConsoleSessionState | null>;
  /**
   * Whether each session exists, in order, without extending its life. True if its Redis node does
   * not answer.
   */
  exist(sessionHashes: readonly string[]): Promise<boolean[]>;
  close(sessionHash: string): Promise<void>;
  /** The sessions of a user, without sessions from before the release that added this list. */
  list(userId: string): Promise<ListedSession[]>;
}

/** Sign-ins that wait for another step, under the SHA-256 of an id that a cookie has. */
export interface PendingSignIns {
  put(idHash: string, value: unknown, lifeMs: number): Promise<void>;
  read(idHash: string): Promise<unknown>;
  /** Reads and deletes a sign-in: only one caller gets it. Null: it is unknown or expired. */
  take(idHash: string): Promise<unknown>;
}

/** The e-mail and network address of an attempt to sign in; failures count for both. */
export interface SignInSubject {
  /** SHA-256 of the e-mail address in lower case, in hex. */
  readonly emailHash: string;
  /** Network of the caller's address, see `networkOf`: for IPv6 the /64, for IPv4 the address. */
  readonly network: string;
}

/** Failed attempts to sign in. */
export interface SignInAttempts {
  /**
   * Counts an attempt as failed until the attempt is taken back, and returns 0. After too many
   * failures, counts nothing and returns the wait in milliseconds.
   */
  begin(subject: SignInSubject): Promise<number>;
  /**
   * Takes an attempt back. `undecided` does nothing else: the password was not checked, or a second
   * factor follows. `succeeded` also clears failures under the e-mail address. If the network had
   * an earlier sign-in under this e-mail address, only the failures from this network are cleared:
   * they have a separate count. Failures of the network under other e-mail addresses stay counted.
   */
  takeBack(subject: SignInSubject, outcome: "succeeded" | "undecided"): Promise<void>;
}

/**
 * Hashes passwords: slowly on purpose, and a few at a time. Both functions throw
 * {@link PasswordsBusy} if too many passwords wait.
 */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** If the hash is null: false, after the same work. */
  matches(password: string, passwordHash: string | null): Promise<boolean>;
}

/** Too many passwords wait to be hashed. */
export class PasswordsBusy extends Error {
  override readonly name = "PasswordsBusy";
}

/** The data of a server in the account service. The server's status is in the directory. */
export type ServerOverview = Omit<ConsoleServer, "status">;

/** The account service. Callers first check that the server belongs to the organization. */
export interface Accounts {
  /** In order; null for a server that the account service does not know (yet). */
  overviews(serverIds: readonly string[]): Promise<readonly (ServerOverview | null)[]>;
  /** Null: the change was made; otherwise the issues with which it was rejected. */
  changeConfiguration(
    serverId: string,
    change: UpdateServerConfigurationBody,
    by: Caller,
  ): Promise<readonly Issue[] | null>;
  /** A page, newest first. */
  list(serverId: string, query: ListTradingAccountsQuery): Promise<AccountPage>;
  /** Accounts with their live values, in order; null for one that does not exist. */
  records(serverId: string, accountNumbers: readonly string[]): Promise<readonly (TradingAccount | null)[]>;
  /** Body of `{account, credentials}`; null: no such account. */
  details(serverId: string, accountNumber: string): Promise<Buffer | null>;
  /** Whether each account exists, in order. */
  existing(accounts: readonly AccountRef[]): Promise<readonly boolean[]>;
}

/** A page of the accounts of a server. */
export interface AccountPage {
  readonly accounts: readonly TradingAccount[];
  readonly pagination: Pagination;
}

/**
 * Sorts and filters the accounts of a server by the values of their last stored minute, which the
 * metrics service has. Callers first check that the server belongs to the organization.
 */
export interface AccountRanks {
  rank(
    serverId: string,
    query: z.output<typeof METRICS_ROUTES.rankAccounts.body>,
  ): Promise<z.output<typeof METRICS_ROUTES.rankAccounts.answer>>;
  /** In order; null for an account without a stored minute. */
  values(serverId: string, accountNumbers: readonly string[]): Promise<readonly (StoredAccountValues | null)[]>;
}

/** The commands of organizations. */
export interface Commands {
  /** Body of a page of an organization's commands on a server; a stream if large. */
  list(organizationId: string, serverId: string, query: ListCommandsQuery): Promise<Buffer | Readable>;
  /** Body of `{command}`; null: no such command of the organization. */
  read(organizationId: string, commandId: string): Promise<Buffer | null>;
}

/**
 * The risk service. Callers first check that the server belongs to the organization. Calls reject
 * with the ApiError with which the risk service rejects the request, and with a DependencyError if
 * it is unavailable.
 */
export interface Risk {
  /** Body of the rules of an account; an unknown account has none. */
  rules(account: AccountRef): Promise<Buffer>;
  /** Body of the templates of a server, in the order of their precedence. */
  templates(serverId: string): Promise<Buffer>;
  /** Body of one template; null: there is none with this name. */
  template(serverId: string, name: string): Promise<Buffer | null>;
  /** Body of a page of the accounts of a template. */
  templateAccounts(serverId: string, name: string, query: TemplateAccountsQuery): Promise<Buffer>;
  /** Body of a page of breaches, newest first. */
  breaches(account: AccountRef, query: ListRiskBreachesQuery): Promise<Buffer>;
  /** Body of one breach. */
  breach(account: AccountRef, breachId: string): Promise<Buffer>;
  /** A breach on one of the servers, by its id alone; null: there is none. */
  find(serverIds: readonly string[], breachId: string): Promise<RiskBreach | null>;
  /** The signed document of a breach: the bytes that were signed. */
  evidence(account: AccountRef, breachId: string): Promise<Buffer>;
}

/** Finds a transaction on one of the servers by its id; null: there is none. */
export type FindTransaction = (
  serverIds: readonly string[],
  transactionId: string,
) => Promise<z.output<typeof FINANCE_ROUTES.findTransaction.answer>["transaction"]>;

/** A request to the webhooks service for an organization. */
export interface WebhooksRequest {
  readonly route: InternalRoute;
  /** Parameters of the path, without the organization. */
  readonly params: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** The person for whom the console sends the request. */
  readonly caller: Caller;
}

/** The status and the exact body of an answer. */
export interface OwnersAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * Sends a request to the webhooks service. Returns its answer, or the error with which it rejects
 * the request. Throws DependencyError if it is unavailable.
 */
export type Webhooks = (
  organizationId: string,
  request: WebhooksRequest,
) => Promise<OwnersAnswer | { readonly rejection: ApiError }>;

/** The newest live samples. */
export interface Samples {
  /** In order; null for an account without a sample. */
  latest(accounts: readonly AccountRef[]): Promise<readonly (AccountMetricsFrame | null)[]>;
}
