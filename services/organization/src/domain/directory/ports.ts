import type { DirectoryEntry, FormerUser, KeyEntry, PageQuery, Prices, ServerEntry } from "@kapi/contracts";

import type { AuditTransaction } from "../audit.ts";
import type { ManagementKey } from "./management-key.ts";

/** A key to create: it starts active. */
export type NewKey = Omit<KeyEntry, "kind" | "version" | "status"> & Pick<ManagementKey, "name">;
/** A server to create, or the new values of a known server. */
export type NewServer = Pick<
  ServerEntry,
  "serverId" | "organizationId" | "tradingServerUrl" | "configuration" | "sealedToken"
>;

/** A created or changed server. */
export interface RegisteredServer {
  readonly server: ServerEntry;
  /** Null: the server is new. */
  readonly before: NewServer | null;
}

/** An organization as the operator's routes list it. */
export interface Organization {
  readonly organizationId: string;
  readonly name: string;
  readonly createdAt: string;
}

/** One transaction. It announces changes of keys, servers and prices through the outbox. */
export interface DirectoryTransaction extends AuditTransaction {
  insertOrganization(id: string, name: string, nowMs: number): Promise<void>;
  /** Counts usable keys and all keys. No other transaction adds a key until this one ends. */
  lockAndCountKeys(organizationId: string, nowMs: number): Promise<{ readonly active: number; readonly total: number }>;
  insertKey(key: NewKey, nowMs: number): Promise<ManagementKey>;
  /**
   * Revokes a key; `isNew` is false if it was revoked before. Null: the organization has no such
   * key or, if `organizationId` is null, no organization has it.
   */
  revokeKey(
    keyId: string,
    organizationId: string | null,
    nowMs: number,
  ): Promise<{ readonly key: ManagementKey; readonly isNew: boolean } | null>;
  /** Returns whether the status changed. */
  setServerStatus(organizationId: string, serverId: string, status: "active" | "disabled"): Promise<boolean>;
  /** Null: the id belongs to another organization. */
  upsertServer(server: NewServer, nowMs: number): Promise<RegisteredServer | null>;
  setPrices(prices: Prices): Promise<void>;
}

/** A page of rows; `total` counts the rows of all pages. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** Reads and transactions of the directory: organizations, keys, servers and prices. */
export interface DirectoryStore {
  transaction<T>(work: (tx: DirectoryTransaction) => Promise<T>): Promise<T>;
  readOrganization(id: string): Promise<Organization | null>;
  organizationExists(id: string): Promise<boolean>;
  /** Newest first. */
  readOrganizations(page: PageQuery): Promise<Page<Organization>>;
  /** Newest first, revoked keys last. */
  readKeys(organizationId: string, page: PageQuery): Promise<Page<ManagementKey>>;
  /** Names by id; unknown ids are left out. */
  readKeyNames(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Without removed servers, oldest first. */
  readServers(organizationId: string, page: PageQuery): Promise<Page<ServerEntry>>;
  /** The servers of all organizations, without removed ones, oldest first. */
  readAllServers(page: PageQuery): Promise<Page<ServerEntry>>;
  /** Null: removed, or not in the organization. */
  readServer(organizationId: string, serverId: string): Promise<ServerEntry | null>;
  /** All entries, a few hundred at a time. */
  readDirectory(): AsyncIterable<readonly DirectoryEntry[]>;
}

/** Users that the console service has not taken over yet. */
export interface FormerUsers {
  /** At most `limit` users that the console does not have, or has in an earlier version. */
  unmoved(limit: number): Promise<FormerUser[]>;
  /** Stores, for each user, the version that the console now has. */
  markMoved(users: readonly Pick<FormerUser, "userId" | "sessionVersion">[]): Promise<void>;
}
