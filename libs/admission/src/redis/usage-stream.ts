import { type Actor, actorFromText } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

import type { RedisConnection } from "@kapi/redis";
import { type Shard, usageKey } from "./keys.ts";
import { callPerShard, type ShardReplies } from "./shard-replies.ts";

/**
 * Default maximum number of entries in a shard's usage stream: ten minutes without PostgreSQL at
 * 1,000 requests/s per shard. At the limit the shard answers as unsynced, so that no entry is lost.
 * An entry takes 250 bytes, so a full stream takes 150 MB. 10,000 requests/s of all shards for ten
 * minutes take 1.5 GB.
 */
export const USAGE_STREAM_LIMIT = 600_000;

/** One entry of a usage stream, as a function of Redis wrote it. */
export interface UsageEntry {
  /** Id of the entry in its stream. */
  readonly entryId: string;
  readonly chargeId: string;
  /** `release`: the reservation `chargeId` was released, because its command was not published. */
  readonly kind: "consume" | "reserve" | "refund" | "release";
  readonly organizationId: string;
  readonly operation: string;
  readonly requestId: string;
  readonly credits: number;
  readonly commandId: string | null;
  /** Time of writing by the clock of Redis, in ms since 1970. */
  readonly atMs: number;
  /**
   * True for a refund that the wallet in Redis did not get, because Redis does not know the charge,
   * or the shard was synced since the charge. The ledger refunds the credits that it consumed for
   * the charge, once.
   */
  readonly asksLedger?: boolean;
  /** The span (W3C) of the billed request, if that is recorded. */
  readonly traceparent?: string;
  /** The key or person of the request; null if unknown, as in an entry of release 0.1.0. */
  readonly createdBy: Actor | null;
  /** The network address of the request; null if unknown. */
  readonly address: string | null;
}

/**
 * The oldest entries of each shard's stream, at most `maxEntries` per shard. There is no cursor:
 * entries stay until they are deleted.
 */
export function readUsage(
  redis: RedisConnection,
  shards: readonly Shard[],
  maxEntries: number,
): Promise<ShardReplies<UsageEntry[]>> {
  return callPerShard(shards, async (shard) => {
    const head = await redis.commands.xrange(usageKey(shard), "-", "+", "COUNT", maxEntries);
    return head.map(usageFromWire);
  });
}

/**
 * Deletes entries that the ledger has. Entries of a shard that does not answer are read again, and
 * become the same ledger entries.
 */
export function deleteUsage(
  redis: RedisConnection,
  entries: ReadonlyMap<Shard, readonly UsageEntry[]>,
): Promise<ShardReplies<number>> {
  const shards = [...entries.keys()].filter((shard) => (entries.get(shard)?.length ?? 0) > 0);
  return callPerShard(shards, (shard) =>
    redis.commands.xdel(usageKey(shard), ...(entries.get(shard) ?? []).map((entry) => entry.entryId)),
  );
}

/** The number of entries in each shard's stream. */
export function usageBacklog(redis: RedisConnection, shards: readonly Shard[]): Promise<ShardReplies<number>> {
  return callPerShard(shards, (shard) => redis.commands.xlen(usageKey(shard)));
}

/**
 * Kind, credits, charge, organization, operation and request id, as kapi.lua writes them. Only
 * the request id may have spaces.
 */
const ENTRY = /^(consume|reserve|refund) (\d+) (\S+) (\S+) (\S+) (.*)$/s;

/** Parses an entry of a stream. */
export function usageFromWire([entryId, fields]: [string, string[]]): UsageEntry {
  const [, written, credits, chargeId = "", organizationId = "", operation = "", requestId = ""] =
    ENTRY.exec(fields[1] ?? "") ?? [];
  const kind = written === "reserve" && fieldOf(fields, "given_back") !== undefined ? "release" : written;
  assert(isKind(kind), "a usage entry does not have the format that kapi.lua writes");
  const [caller = "", address] = (fieldOf(fields, "key") ?? "").split(" ");
  // A reservation is for a command. Its charge id is the command id, unless the entry names the
  // command.
  const isReserved = kind === "reserve" || kind === "release";
  return {
    entryId,
    chargeId,
    kind,
    organizationId,
    operation,
    requestId,
    credits: Number(credits),
    commandId: isReserved ? (fieldOf(fields, "command") ?? chargeId) : null,
    createdBy: callerFromName(caller),
    address: address ?? null,
    atMs: Number(entryId.split("-", 1)[0]),
    ...(fieldOf(fields, "ask_ledger") === undefined ? {} : { asksLedger: true }),
    ...(fields[3] === undefined || fields[3] === "" ? {} : { traceparent: fields[3] }),
  };
}

/** Parses the name of a caller as kapi.lua wrote it: the id of a key, or `user/<id>`. */
function callerFromName(name: string): Actor | null {
  if (name === "") return null;
  return name.includes("/") ? actorFromText(name) : { type: "key", id: name };
}

/** The value of a field after the first two fields, which every entry has. */
function fieldOf(fields: readonly string[], name: string): string | undefined {
  for (let at = 4; at < fields.length; at += 2) if (fields[at] === name) return fields[at + 1];
  return undefined;
}

function isKind(kind: string | undefined): kind is UsageEntry["kind"] {
  return kind === "consume" || kind === "reserve" || kind === "refund" || kind === "release";
}
