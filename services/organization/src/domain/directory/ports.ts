/** What operations on the directory need from outside. */
import type { DirectoryEntry, FormerUser, KeyEntry, Prices, ServerEntry } from "@kapi/contracts";

import type { AuditRecord } from "../audit.ts";
import type { RowRange } from "../row-range.ts";
import type { ManagementKey } from "./management-key.ts";

export type NewKey = Omit<KeyEntry, "kind" | "version" | "status"> & Pick<ManagementKey, "name">;
export type NewServer = Pick<
  ServerEntry,
  "serverId" | "organizationId" | "tradingServerUrl" | "configuration" | "sealedToken"
>;

/** A server that was added or changed. */
export interface RegisteredServer {
  readonly server: ServerEntry;
  /** As it was before; null: it is new. */
  readonly before: NewServer | null;
}

/** An organization, as the operator's list has it. */
export interface Organization {
  readonly organizationId: string;
  readonly name: string;
  readonly createdAt: string;
}

/** A request that was billed to a management key. */
export interface KeyUse {
  readonly keyId: string;
  readonly atMs: number;
  /** Network address that it came from; null: not known. */
  readonly address: string | null;
}

/**
 * What is done together or not at all. Changes are announced through the outbox, in the same
 * transaction.
 */
export interface DirectoryTransaction {
  insertOrganization(id: string, name: string, nowMs: number): Promise<void>;
  /**
   * How many keys an organization has: those that can be used, and all with revoked and expired
   * ones. Until the transaction ends nobody else adds one.
   */
  lockAndCountKeys(organizationId: string, nowMs: number): Promise<{ readonly active: number; readonly total: number }>;
  insertKey(key: NewKey, nowMs: number): Promise<ManagementKey>;
  /**
   * Revokes a key; a revoked key stays so, and is not new. Null: there is no such key, or it is not
   * of the organization, where one is named.
   */
  revokeKey(
    keyId: string,
    organizationId: string | null,
    nowMs: number,
  ): Promise<{ readonly key: ManagementKey; readonly isNew: boolean } | null>;
  /** Sets the status of a server of the organization; whether it had another one. */
  setServerStatus(organizationId: string, serverId: string, status: "active" | "disabled"): Promise<boolean>;
  /** Adds a server, or changes where it is reached. Null: the id is another organization's. */
  upsertServer(server: NewServer, nowMs: number): Promise<RegisteredServer | null>;
  setPrices(prices: Prices): Promise<void>;
  /** Adds entries for the audit log: of those with an event id, those that are not there. */
  recordAudit(records: readonly AuditRecord[]): void;
}

/** The directory of the service's own database. */
export interface DirectoryStore {
  transaction<T>(work: (tx: DirectoryTransaction) => Promise<T>): Promise<T>;
  readOrganization(id: string): Promise<Organization | null>;
  organizationExists(id: string): Promise<boolean>;
  /** Newest first. */
  readOrganizations(range: RowRange): Promise<Organization[]>;
  countOrganizations(): Promise<number>;
  /** Active keys first, then the newest first. */
  readKeys(organizationId: string, range: RowRange): Promise<ManagementKey[]>;
  countKeys(organizationId: string): Promise<number>;
  /** Names of keys by their ids, without those of unknown ids. */
  readKeyNames(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Servers that were not removed, oldest first. */
  readServers(organizationId: string, range: RowRange): Promise<ServerEntry[]>;
  countServers(organizationId: string): Promise<number>;
  /** A server, if it is the organization's and was not removed. */
  readServer(organizationId: string, serverId: string): Promise<ServerEntry | null>;
  /** Every entry of the directory, some hundred at a time. */
  readDirectory(): AsyncIterable<readonly DirectoryEntry[]>;
}

/** Users that the console service has still to take over. */
export interface FormerUsers {
  /** Those that it does not have, or has as of an earlier change; at most `limit`. */
  unmoved(limit: number): Promise<FormerUser[]>;
  /** Notes that it has these as of these changes. */
  markMoved(users: readonly Pick<FormerUser, "userId" | "sessionVersion">[]): Promise<void>;
}
