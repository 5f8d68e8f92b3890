/** What the console needs from outside. */
import type { Readable } from "node:stream";

import type {
  AccountMetricsFrame,
  ConsoleServer,
  CreateConsoleKeyBody,
  FormerUser,
  InternalRoute,
  Issue,
  ListCommandsQuery,
  ListTradingAccountsQuery,
  PageQuery,
  ShownKey,
  ShownServer,
  UpdateServerConfigurationBody,
  Wallet,
} from "@kapi/contracts";
import type { ApiError, Caller } from "@kapi/http";
import type { z } from "zod";

import type { AuditRecord, FetchedAuditRecord } from "./audit.ts";

/** Rows of a list: `limit` of them after the first `offset`. */
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
  readonly createdAt: string;
  readonly disabledAt: string | null;
};

/** A user who may sign in, with what the sign-in is checked by. */
export interface ActiveUser extends User {
  readonly organizationName: string;
  readonly passwordHash: string;
  /** Sessions that were opened under another version are over. */
  readonly sessionVersion: number;
}

export type NewUser = Pick<
  ActiveUser,
  "userId" | "organizationId" | "organizationName" | "email" | "name" | "passwordHash"
>;

/** The people of all organizations. Who was disabled is found by none of the look-ups. */
export interface Users {
  /** False: the e-mail address is taken. */
  insert(user: NewUser, nowMs: number): Promise<boolean>;
  byEmail(email: string): Promise<ActiveUser | null>;
  byId(userId: string): Promise<ActiveUser | null>;
  /** The versions of the sessions of those users that may sign in. */
  sessionVersions(userIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /**
   * Gives a user another password and ends every session; returns the version of the next ones.
   * Null: no such user, or, where `from` is given, the password is no longer that one.
   */
  setPassword(
    userId: string,
    passwordHash: string,
    from?: string,
  ): Promise<{ readonly organizationId: string; readonly sessionVersion: number } | null>;
  /**
   * Disables a user and ends every session; null: no such user. One who is disabled stays so, and
   * is not new.
   */
  disable(userId: string, nowMs: number): Promise<{ readonly organizationId: string; readonly isNew: boolean } | null>;
  /** Newest first, disabled ones too. */
  page(organizationId: string, range: RowRange): Promise<User[]>;
  count(organizationId: string): Promise<number>;
  /**
   * Adds users of the release before, and of those that it knows takes over what changed since;
   * what was changed here later stays. Returns the ids of those that it could not add: their e-mail
   * address belongs to another user.
   */
  takeOver(former: readonly FormerUser[]): Promise<string[]>;
}

/** What is done together or not at all. */
export interface PeopleTransaction {
  readonly users: Users;
  /** Adds entries to the audit log, of those with an event id those that it does not have. */
  recordAudit(records: readonly (AuditRecord | FetchedAuditRecord)[]): void;
}

/** The service's own database. */
export interface PeopleStore {
  transaction<T>(work: (tx: PeopleTransaction) => Promise<T>): Promise<T>;
}

/** Users as the release before kept them, in the organization service. */
export interface FormerUserSource {
  /** Some that this service does not have, or has as of an earlier change. */
  read(): Promise<readonly FormerUser[]>;
  /** Tells it that this service has these as of these changes. */
  moved(users: readonly FormerUser[]): Promise<void>;
}

/**
 * The directory of the organization service. Every call rejects with the ApiError that it refuses
 * with, and with a DependencyError where it is unavailable.
 */
export interface Directory {
  organizationName(organizationId: string): Promise<string>;
  /** Active keys first, then the newest first; revoked ones are the first to be left out. */
  keys(organizationId: string): Promise<readonly ShownKey[]>;
  /** The key itself, `managementKey`, is nowhere else. */
  createKey(
    organizationId: string,
    wanted: NewKey,
    by: Caller,
  ): Promise<{ readonly key: ShownKey; readonly managementKey: string }>;
  revokeKey(organizationId: string, keyId: string, by: Caller): Promise<ShownKey>;
  /** Names of keys by their ids, without those of unknown ids. */
  keyNames(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Oldest first. */
  servers(organizationId: string): Promise<readonly ShownServer[]>;
  /**
   * Rejects with 404 for a server that there is not, that was removed, or that is another
   * organization's.
   */
  server(organizationId: string, serverId: string): Promise<ShownServer>;
  setServerStatus(organizationId: string, serverId: string, status: "active" | "disabled", by: Caller): Promise<void>;
}

/** A management key that a person asks for; it reaches all servers of the organization. */
export type NewKey = z.output<typeof CreateConsoleKeyBody>;

/** The credits of the organization service; calls reject as those of the {@link Directory} do. */
export interface Credits {
  balance(organizationId: string): Promise<Wallet>;
  /** Sets the balance from which on the wallet is low, in credits. */
  changeThreshold(organizationId: string, credits: number): Promise<Wallet>;
  /** The bytes of a page of what was used, newest first. */
  usage(organizationId: string, query: PageQuery): Promise<Buffer>;
  /** The bytes of what was used on each of the last `days` days. */
  usageByDay(organizationId: string, days: number): Promise<Buffer>;
}

/** A console session as it is stored, under the hash of its id. */
export interface ConsoleSessionState {
  readonly userId: string;
  /**
   * The version of the user's sessions that it was opened under; another one means that it is over.
   */
  readonly version: number;
  readonly csrfToken: string;
  readonly createdAtMs: number;
}

/**
 * The sessions of the console. `sessionHash` is the SHA-256 of a session's id in hex: the id itself
 * is stored nowhere but in its cookie.
 */
export interface ConsoleSessions {
  open(sessionHash: string, session: Omit<ConsoleSessionState, "createdAtMs">): Promise<void>;
  /** The session under a hash, which lives on from now; null where there is none (any more). */
  use(sessionHash: string): Promise<ConsoleSessionState | null>;
  /**
   * Whether each session exists, in order, without keeping it alive. True also where its node of a
   * cluster does not answer.
   */
  exist(sessionHashes: readonly string[]): Promise<boolean[]>;
  close(sessionHash: string): Promise<void>;
}

/** Who tries to sign in: both parts are counted. */
export interface SignInSubject {
  /** SHA-256 of the e-mail address in lower case, in hex. */
  readonly emailHash: string;
  /** Network address; of IPv6 the part that names the network. */
  readonly address: string;
}

/** Failed attempts to sign in. */
export interface SignInAttempts {
  /**
   * Counts an attempt as a failure until it is taken back. Returns 0, or the milliseconds that it
   * has to wait after too many failures: then it is not counted.
   */
  begin(subject: SignInSubject): Promise<number>;
  /**
   * Takes an attempt back. `succeeded`: the e-mail address begins anew, the network address has
   * this one less (one good password must not clear what was failed with others). `undecided`:
   * nobody said whether the password was right.
   */
  takeBack(subject: SignInSubject, outcome: "succeeded" | "undecided"): Promise<void>;
}

/** Hashes of passwords; made slow on purpose, and only some at once. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /**
   * Whether the password is the one that was hashed. Null instead of a hash: no, with the same
   * work. Throws {@link PasswordsBusy} where too many wait already.
   */
  matches(password: string, passwordHash: string | null): Promise<boolean>;
}

/** Too many passwords wait to be hashed. */
export class PasswordsBusy extends Error {
  override readonly name = "PasswordsBusy";
}

/** What the account service knows of a server, beside its status, which is the directory's. */
export type ServerOverview = Omit<ConsoleServer, "status">;

/** One account. */
export interface AccountName {
  readonly serverId: string;
  readonly accountNumber: string;
}

/** The account service, for servers whose owner was checked. */
export interface Accounts {
  /** In order; null for a server that it does not know (yet). */
  overviews(serverIds: readonly string[]): Promise<readonly (ServerOverview | null)[]>;
  /** Null: done; else why it was refused. */
  changeConfiguration(
    serverId: string,
    change: UpdateServerConfigurationBody,
    by: Caller,
  ): Promise<readonly Issue[] | null>;
  /** The bytes of a page; null where the server is not known. */
  list(serverId: string, query: ListTradingAccountsQuery): Promise<Buffer | null>;
  /** The bytes of `{account, credentials}`; null where there is no such account. */
  details(serverId: string, accountNumber: string): Promise<Buffer | null>;
  /** Which of the accounts exist, in order. */
  existing(accounts: readonly AccountName[]): Promise<readonly boolean[]>;
}

/** The commands of organizations. */
export interface Commands {
  /**
   * The bytes of a page of an organization's commands on a server; a stream where they are many.
   */
  list(organizationId: string, serverId: string, query: ListCommandsQuery): Promise<Buffer | Readable>;
  /** The bytes of `{command}`; null where the organization has none of that id. */
  read(organizationId: string, commandId: string): Promise<Buffer | null>;
}

/** A request to the webhooks service for an organization. */
export interface WebhooksRequest {
  readonly route: InternalRoute;
  /** Parameters of the path beside the organization. */
  readonly params: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** The person who asks. */
  readonly caller: Caller;
}

/** The status and the exact body of an answer. */
export interface OwnersAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * The service that owns webhooks: its answer, or what it refuses the request with. Throws
 * DependencyError where it is away.
 */
export type Webhooks = (
  organizationId: string,
  request: WebhooksRequest,
) => Promise<OwnersAnswer | { readonly refusal: ApiError }>;

/** The newest live samples. */
export interface Samples {
  /** In order; null for an account without one. */
  latest(accounts: readonly AccountName[]): Promise<readonly (AccountMetricsFrame | null)[]>;
}
