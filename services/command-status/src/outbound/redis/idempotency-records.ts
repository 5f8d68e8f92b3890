import { repeat } from "@kapi/kernel";
import { type CommandRef, forget, type Shard, shardOf } from "@kapi/admission/redis";
import type { RedisConnection } from "@kapi/redis";
import type { Logger, Started } from "@kapi/runtime";

import type { IdempotencyRecords } from "../../domain/ports.ts";

/** Pause between two tries to tell a Redis node that did not answer. */
const RETRY_PAUSE_MS = 1_000;
/** Commands told in one try. */
const MAX_COMMANDS_PER_TRY = 5_000;
/**
 * Commands that wait for their node, about 150 bytes each. Above it the oldest is given up: its
 * record expires after 24 h.
 */
const MAX_WAITING = 100_000;

/**
 * The idempotency records in Redis. Commands whose node does not answer wait here, and hold up no
 * others. What waits is lost with the process: its records then expire.
 */
export function createIdempotencyRecords(redis: RedisConnection, logger: Logger): Started<IdempotencyRecords> {
  const waiting = new Map<string, CommandRef>();
  const unreachableShards = new Set<Shard>();

  const keep = (commands: readonly CommandRef[]): void => {
    for (const command of commands) waiting.set(command.commandId, command);
    let givenUp = 0;
    for (const commandId of waiting.keys()) {
      if (waiting.size <= MAX_WAITING) break;
      waiting.delete(commandId);
      givenUp += 1;
    }
    if (givenUp > 0)
      logger.warn({ givenUp }, "too many idempotency records wait for Redis: the oldest are left to expire");
  };
  const isUnreachable = ({ organizationId }: CommandRef): boolean => unreachableShards.has(shardOf(organizationId));
  const tell = async (commands: readonly CommandRef[]): Promise<CommandRef[]> => {
    const { replies, unreachable, error } = await forget(redis, commands);
    for (const shard of replies.keys()) unreachableShards.delete(shard);
    for (const shard of unreachable) unreachableShards.add(shard);
    if (unreachable.length > 0) logger.warn({ err: error, shards: unreachable }, "idempotency records wait for Redis");
    return commands.filter(isUnreachable);
  };
  const round = async (): Promise<void> => {
    const commands = [...waiting.values()].slice(0, MAX_COMMANDS_PER_TRY);
    for (const { commandId } of commands) waiting.delete(commandId);
    if (commands.length > 0) keep(await tell(commands));
  };
  const value: IdempotencyRecords = {
    forget: async (commands) => {
      const refs = commands.map(({ commandId, organizationId }) => ({ commandId, organizationId }));
      // A node that did not answer the last time is not waited for again.
      const { later = [], now = [] } = Object.groupBy(refs, (ref) => (isUnreachable(ref) ? "later" : "now"));
      keep([...later, ...(await tell(now))]);
    },
  };
  const retries = repeat({ name: "idempotency records", round, pauseMs: RETRY_PAUSE_MS, logger });
  return { value, stop: retries.stop };
}
