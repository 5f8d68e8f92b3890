import type { RedisConnection } from "@kapi/redis";
import { type Shard, metaKey, usageKey, walletKey } from "./keys.ts";
import { arrayReply } from "@kapi/redis";
import { type WalletState, walletReply } from "./wallet-state.ts";
import { type UsageEntry, usageFromWire } from "./usage-stream.ts";

/** A shard at one moment: no charge happened between reading the wallets and the entries. */
export interface ShardSnapshot {
  readonly kind: "ready";
  /** By organization; organizations without a wallet are left out. */
  readonly wallets: ReadonlyMap<string, WalletState>;
  /** Entries of the usage stream that were not deleted yet; the ledger may have some of them. */
  readonly usage: readonly UsageEntry[];
}

/**
 * Reads wallets of a shard together with its usage stream. `unsynced`: the shard is unsynced.
 * `busy`: more than `maxEntries` entries wait in the stream, so reading would block Redis for long.
 */
export async function readShard(
  redis: RedisConnection,
  shard: Shard,
  organizationIds: readonly string[],
  maxEntries: number,
): Promise<ShardSnapshot | { readonly kind: "unsynced" | "busy" }> {
  const keys = [metaKey(shard), usageKey(shard), ...organizationIds.map((id) => walletKey(shard, id))];
  const [kind, usage, wallets] = arrayReply(await redis.call("kapi_read_tag", keys, [maxEntries]));
  if (kind !== "OPEN") return { kind: kind === "BUSY" ? "busy" : "unsynced" };
  const found = arrayReply(wallets);
  return {
    kind: "ready",
    usage: (arrayReply(usage) as [string, string[]][]).map(usageFromWire),
    wallets: new Map(
      organizationIds.flatMap((id, index) => {
        const wallet = arrayReply(found[index]);
        return wallet[0] === null ? [] : [[id, walletReply(id, wallet)] as const];
      }),
    ),
  };
}
