import { AccountEvent, accountKey, TOPICS } from "@kapi/contracts";
import { type Consumer, startConsumer, type DeadLetter, type KafkaConnection, RetryableError } from "@kapi/kafka";
import { isTransient } from "@kapi/postgres";
import type { Logger, Started } from "@kapi/runtime";

import type { AccountStatusAt, SnapshotStore } from "../../domain/ports.ts";

/** The status of a deleted account. It is not stored: the account's data is deleted. */
const DELETED = "deleted";
const GROUP = "metrics-account-statuses";
/**
 * Minimum time between two fetches. Statuses are not urgent, and a batch of a thousand costs little
 * more than a batch of one.
 */
const MIN_INTERVAL_MS = 250;

/**
 * Stores the statuses and names of accounts from `account.events`, for snapshots and lists of
 * accounts. Also deletes the data of deleted accounts.
 */
export function startAccountStatusConsumer(options: {
  kafka: KafkaConnection;
  store: SnapshotStore;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, store, logger, fatal } = options;
  return startConsumer(kafka, {
    groupId: GROUP,
    topics: [TOPICS.accountEvents],
    minIntervalMs: MIN_INTERVAL_MS,
    logger,
    fatal,
    onBatch: async ({ messages }) => {
      const deadLetters: DeadLetter[] = [];
      const newest = new Map<string, AccountStatusAt>();
      for (const message of messages) {
        const event = decodeAccountEvent(message.value);
        if (typeof event === "string") deadLetters.push({ message, reason: event, includeValue: true });
        else if ("status" in event) {
          const account = { serverId: event.serverId.toLowerCase(), accountNumber: event.accountNumber };
          const key = accountKey(account.serverId, account.accountNumber);
          const { version, accountName } = event;
          const status = event.type === "account.deleted" ? DELETED : event.status;
          if ((newest.get(key)?.version ?? 0) < version) {
            newest.set(key, { account, version, status, accountName });
          }
        }
      }
      await storeStatuses(store, [...newest.values()]);
      return { deadLetters };
    },
  });
}

async function storeStatuses(store: SnapshotStore, statuses: readonly AccountStatusAt[]): Promise<void> {
  try {
    const kept = statuses.filter(({ status }) => status !== DELETED);
    if (kept.length > 0) await store.upsertStatuses(kept);
    for (const { account, status } of statuses) if (status === DELETED) await store.deleteAccount(account);
  } catch (error) {
    throw isTransient(error)
      ? new RetryableError("statuses or deletions of accounts cannot be stored", { cause: error })
      : error;
  }
}

/** Decodes an event; returns the reason if it is malformed. */
function decodeAccountEvent(value: Buffer): AccountEvent | string {
  let json: unknown;
  try {
    json = JSON.parse(value.toString("utf8"));
  } catch {
    return "the value is not JSON";
  }
  const parsed = AccountEvent.safeParse(json);
  return parsed.success ? parsed.data : `not an account event: ${parsed.error.issues[0]?.path.join(".") ?? ""}`;
}
