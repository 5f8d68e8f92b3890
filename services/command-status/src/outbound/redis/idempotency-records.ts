import { repeat } from "@kapi/kernel";
import { type CommandRef, forget, type Shard, shardOf } from "@kapi/admission/redis";
import type { RedisConnection } from "@kapi/redis";
import type { Logger, Started } from "@kapi/runtime";

import type { IdempotencyRecords } from "../../domain/ports.ts";

/** Pause between two attempts to reach a Redis node. */
const RETRY_PAUSE_MS = 1_000;
/** Maximum number of commands per attempt. */
const COMMANDS_PER_ATTEMPT = 5_000;
/**
 * Maximum number of commands that wait for their Redis node, about 150 bytes each. Above it the
 * oldest command is dropped: its record expires after 24 h.
 */
const MAX_WAITING = 100_000;

/**
 * The idempotency records in Redis. Commands whose Redis node does not answer are queued in memory
 * and retried; they delay no other commands. A process that stops loses its queue: the records of
 * these commands expire 24 h after the request.
 */
export function startIdempotencyRecords(redis: RedisConnection, logger: Logger): Started<IdempotencyRecords> {
  const waiting = new Map<string, CommandRef>();
  const unreachableShards = new Set<Shard>();

  const keep = (commands: readonly CommandRef[]): void => {
    for (const command of commands) waiting.set(command.commandId, command);
    let dropped = 0;
    for (const commandId of waiting.keys()) {
      if (waiting.size <= MAX_WAITING) break;
      waiting.delete(commandId);
      dropped += 1;
    }
    if (dropped > 0)
      logger.warn(
        { dropped },
        "too many idempotency records wait for Redis: dropped the oldest, which expire after 24 h",
      );
  };
  const isUnreachable = ({ organizationId }: CommandRef): boolean => unreachableShards.has(shardOf(organizationId));
  const forgetNow = async (commands: readonly CommandRef[]): Promise<CommandRef[]> => {
    const { replies, unreachable, error } = await forget(redis, commands);
    for (const shard of replies.keys()) unreachableShards.delete(shard);
    for (const shard of unreachable) unreachableShards.add(shard);
    if (unreachable.length > 0)
      logger.warn(
        { err: error, shards: unreachable },
        "idempotency records wait for a Redis node that does not answer",
      );
    return commands.filter(isUnreachable);
  };
  const round = async (): Promise<void> => {
    const commands = [...waiting.values()].slice(0, COMMANDS_PER_ATTEMPT);
    for (const { commandId } of commands) waiting.delete(commandId);
    if (commands.length > 0) keep(await forgetNow(commands));
  };
  const value: IdempotencyRecords = {
    forget: async (commands) => {
      const refs = commands.map(({ commandId, organizationId }) => ({ commandId, organizationId }));
      // Commands of shards whose node did not answer last time wait for the next round.
      const { later = [], now = [] } = Object.groupBy(refs, (ref) => (isUnreachable(ref) ? "later" : "now"));
      keep([...later, ...(await forgetNow(now))]);
    },
  };
  const retries = repeat({ name: "idempotency records", round, pauseMs: RETRY_PAUSE_MS, logger });
  return { value, stop: retries.stop };
}
