import { AccountEvent, TOPICS } from "@kapi/contracts";
import { jsonOf } from "@kapi/contracts/codec";
import { type Consumer, type KafkaConnection, RetryableError, startConsumer } from "@kapi/kafka";
import { isTransient } from "@kapi/postgres";
import type { Logger, Started } from "@kapi/runtime";

import type { AccountName } from "../../domain/ports.ts";

/** The consumer group that reads the deletions of accounts. */
const GROUP = "risk.deletions";
const MAX_BATCH_MESSAGES = 500;
/** Nobody waits for the removal of rules: fewer and larger batches cost less. */
const MIN_INTERVAL_MS = 2_000;

/** Deletes the rules of deleted accounts. */
export function startDeletionConsumer(options: {
  readonly kafka: KafkaConnection;
  readonly deleteRules: (accounts: readonly AccountName[]) => Promise<void>;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, deleteRules, logger, fatal } = options;
  return startConsumer(kafka, {
    groupId: GROUP,
    topics: [TOPICS.accountEvents],
    maxBatchMessages: MAX_BATCH_MESSAGES,
    minIntervalMs: MIN_INTERVAL_MS,
    logger,
    fatal,
    onBatch: async ({ messages }) => {
      const deleted = messages.flatMap(({ value }) => deletionOf(value));
      try {
        if (deleted.length > 0) await deleteRules(deleted);
      } catch (error) {
        throw isTransient(error) ? new RetryableError("rules cannot be deleted", { cause: error }) : error;
      }
      return {};
    },
  });
}

/** The account of a deletion. The webhooks service reports events that cannot be read. */
function deletionOf(value: Buffer): AccountName[] {
  const text = value.toString("utf8");
  // Other events are not parsed.
  if (!text.includes('"account.deleted"')) return [];
  const found = jsonOf(text);
  if ("fault" in found) return [];
  const parsed = AccountEvent.safeParse(found.json);
  return parsed.success && parsed.data.type === "account.deleted" ? [parsed.data] : [];
}
