import { z } from "zod";

import { Leverage, ServerEnvironment } from "../http/servers.ts";
import { Prices } from "../prices.ts";
import { Scope } from "../scopes.ts";
import { Currency } from "../values.ts";
import { Sealed } from "./command-message.ts";

const Version = z.int().min(1);
/** Maximum number of networks of a key. */
const MAX_ALLOWED_NETWORKS = 50;

/** An address, or a network in CIDR notation. */
const Network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: "must be an IP address or a network such as 203.0.113.0/24",
});
/** The networks from which a key may be used. */
export const AllowedNetworks = z.array(Network).min(1).max(MAX_ALLOWED_NETWORKS);

/** A management key (decisions, 12). A revocation is a status, never a tombstone. */
export const KeyEntry = z.object({
  kind: z.literal("key"),
  version: Version,
  keyId: z.string(),
  organizationId: z.uuid(),
  /** SHA-256 of the secret part, in hex. */
  secretHash: z.string(),
  scopes: z.array(Scope),
  /** Null: all servers of the organization. */
  serverIds: z.array(z.guid()).nullable(),
  expiresAt: z.iso.datetime().nullable(),
  status: z.enum(["active", "revoked"]),
  /** Token bucket; null: no limit (decisions, 7.5). */
  rateLimit: z.object({ perSecond: z.number().positive(), burst: z.int().min(1) }).nullable(),
  /** Null: any network. Absent in entries of release 0.1.0. */
  allowedNetworks: AllowedNetworks.nullable().optional(),
});
export type KeyEntry = z.infer<typeof KeyEntry>;

/**
 * A trading server of an organization, and its address. The account service copies `configuration`
 * once, when it first reads the server; afterwards it owns the server's configuration.
 */
export const ServerEntry = z.object({
  kind: z.literal("server"),
  version: Version,
  serverId: z.guid(),
  organizationId: z.uuid(),
  status: z.enum(["active", "disabled", "removed"]),
  tradingServerUrl: z.url(),
  /**
   * The token of the server, encrypted for this server id. Account and finance decrypt the token to
   * call the server. Organization decrypts it to see whether a registration changes the token.
   * Undefined if the server was registered without a token.
   */
  sealedToken: Sealed.optional(),
  configuration: z.object({
    serverName: z.string(),
    companyName: z.string(),
    currency: Currency,
    environment: ServerEnvironment,
    supportedLeverage: z.array(Leverage).min(1).max(100),
    defaultLeverage: Leverage.nullable(),
  }),
});
export type ServerEntry = z.infer<typeof ServerEntry>;

/** The prices in force. */
export const PricesEntry = z.object({ kind: z.literal("prices"), version: Version, prices: Prices });
export type PricesEntry = z.infer<typeof PricesEntry>;

/** Value of a record of `organization.directory`; the highest `version` of an entity wins. */
export const DirectoryEntry = z.discriminatedUnion("kind", [KeyEntry, ServerEntry, PricesEntry]);
export type DirectoryEntry = z.infer<typeof DirectoryEntry>;

/** The record key of an entry. */
export function directoryKey(entry: DirectoryEntry): string {
  switch (entry.kind) {
    case "key":
      return `key/${entry.keyId}`;
    case "server":
      return `server/${entry.serverId}`;
    case "prices":
      return "prices";
  }
}
