import { AccountEvent, TOPICS, type AccountRef } from "@kapi/contracts";
import { jsonOf } from "@kapi/contracts/codec";
import { type Consumer, type KafkaConnection, RetryableError, startConsumer } from "@kapi/kafka";
import { isTransient } from "@kapi/postgres";
import type { Logger, Started } from "@kapi/runtime";

/** The consumer group that reads the changes of accounts. */
const GROUP = "risk.accounts";
const MAX_BATCH_MESSAGES = 500;
/** Minimum time between fetches. It delays the rules of a new account by at most this time. */
const MIN_INTERVAL_MS = 200;

/** Events after which a template can begin to apply, and deletions. Other events are not parsed. */
const ACCOUNT_CHANGE = /"account\.(?:created|updated|enabled|close_only|disabled|archived|deleted)"/;

/** Deletes the rules of deleted accounts, and adds changed accounts to the waiting accounts. */
export function startAccountConsumer(options: {
  readonly kafka: KafkaConnection;
  readonly deleteRules: (accounts: readonly AccountRef[]) => Promise<void>;
  readonly addChanged: (accounts: readonly AccountRef[]) => Promise<void>;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, deleteRules, addChanged, logger, fatal } = options;
  return startConsumer(kafka, {
    groupId: GROUP,
    topics: [TOPICS.accountEvents],
    maxBatchMessages: MAX_BATCH_MESSAGES,
    minIntervalMs: MIN_INTERVAL_MS,
    logger,
    fatal,
    onBatch: async ({ messages }) => {
      const events = messages.flatMap(({ value }) => changeOf(value));
      const deleted = events.filter(({ type }) => type === "account.deleted");
      const changed = events.filter(({ type }) => type !== "account.deleted");
      try {
        if (changed.length > 0) await addChanged(changed);
        // A deletion is the last event of its account.
        if (deleted.length > 0) await deleteRules(deleted);
      } catch (error) {
        throw isTransient(error) ? new RetryableError("account events cannot be stored", { cause: error }) : error;
      }
      return {};
    },
  });
}

/** The event, if it changes an account. The webhooks service reports events that cannot be read. */
function changeOf(value: Buffer): (AccountRef & Pick<AccountEvent, "type">)[] {
  const text = value.toString("utf8");
  if (!ACCOUNT_CHANGE.test(text)) return [];
  const found = jsonOf(text);
  if ("fault" in found) return [];
  const parsed = AccountEvent.safeParse(found.json);
  return parsed.success && ACCOUNT_CHANGE.test(JSON.stringify(parsed.data.type)) ? [parsed.data] : [];
}
