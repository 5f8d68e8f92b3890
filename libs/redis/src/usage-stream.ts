import { assert } from "@kapi/kernel";

import type { RedisConnection } from "./client.ts";
import { type Tag, usageKey } from "./keys.ts";

/**
 * Most entries of a tag's usage stream. At the limit the tag answers as closed rather than lose an entry; about 250 bytes
 * each, so that all 64 full tags hold 1.6 GB.
 */
export const USAGE_STREAM_LIMIT = 100_000;

/** One leg of the credit ledger, as the admission function wrote it. */
export interface UsageEntry {
  /** Id of the entry in its stream. */
  readonly entryId: string;
  readonly chargeId: string;
  readonly leg: "consume" | "reserve" | "refund";
  readonly organizationId: string;
  readonly operation: string;
  readonly requestId: string;
  readonly credits: number;
  readonly commandId: string | null;
  /** When it was written, ms since 1970, by the clock of Redis. */
  readonly atMs: number;
}

/** The oldest entries of each tag's stream, at most `maxEntries` per tag. There is no cursor: what is read stays until deleted. */
export async function readUsage(
  redis: RedisConnection,
  tags: readonly Tag[],
  maxEntries: number,
): Promise<Map<Tag, UsageEntry[]>> {
  const heads = await Promise.all(
    tags.map((tag) => redis.commands.xrange(usageKey(tag), "-", "+", "COUNT", maxEntries)),
  );
  const found = new Map<Tag, UsageEntry[]>();
  for (const [index, tag] of tags.entries()) {
    const head = heads[index];
    if (head && head.length > 0) found.set(tag, head.map(usageFromWire));
  }
  return found;
}

/** Deletes entries that the ledger has. */
export async function deleteUsage(redis: RedisConnection, tag: Tag, entries: readonly UsageEntry[]): Promise<void> {
  await redis.commands.xdel(usageKey(tag), ...entries.map((entry) => entry.entryId));
}

/** Entries waiting in each tag's stream. */
export async function usageBacklog(redis: RedisConnection, tags: readonly Tag[]): Promise<number[]> {
  return Promise.all(tags.map((tag) => redis.commands.xlen(usageKey(tag))));
}

function usageFromWire([entryId, fields]: [string, string[]]): UsageEntry {
  const value = (name: string): string => {
    const at = fields.indexOf(name);
    assert(at % 2 === 0 && at + 1 < fields.length, `a usage entry has the field ${name}`);
    return fields[at + 1] ?? "";
  };
  const leg = value("leg");
  assert(leg === "consume" || leg === "reserve" || leg === "refund", "a usage entry names a leg");
  return {
    entryId,
    chargeId: value("charge"),
    leg,
    organizationId: value("organization"),
    operation: value("operation"),
    requestId: value("request"),
    credits: Number(value("credits")),
    commandId: value("command") || null,
    atMs: Number(entryId.split("-", 1)[0]),
  };
}
