import { AccountEvent, accountKey, TOPICS, type AccountRef } from "@kapi/contracts";
import { startLogReader, type KafkaConnection, type LogReader } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { SampleLog } from "../../operations/sample-log.ts";

/**
 * Reads deletions from `account.events`. Every process that reads samples needs all deletions, so
 * each reads the topic from the beginning, without a group. Deletions that the topic no longer has
 * are in `deleted_accounts`.
 */
export function startDeletionReader(options: {
  kafka: KafkaConnection;
  log: SampleLog;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<LogReader>> {
  const { kafka, log, logger, fatal } = options;
  return startLogReader(kafka, {
    topic: TOPICS.accountEvents,
    from: "beginning",
    onBatch: (_partition, records) => {
      for (const { value } of records) {
        const account = deletedAccount(value, logger);
        if (account !== null) log.remove(accountKey(account.serverId, account.accountNumber));
      }
    },
    logger,
    fatal,
  });
}

/**
 * Returns the account of a deletion; null for other events and for malformed ones. Searches for the
 * type before parsing, because most events are not deletions.
 */
function deletedAccount(value: Buffer, logger: Logger): AccountRef | null {
  if (!value.includes("account.deleted")) return null;
  let json: unknown;
  try {
    json = JSON.parse(value.toString("utf8"));
  } catch (error) {
    logger.warn({ err: error }, "an account event is not JSON");
    return null;
  }
  const parsed = AccountEvent.safeParse(json);
  if (!parsed.success || parsed.data.type !== "account.deleted") return null;
  return { serverId: parsed.data.serverId.toLowerCase(), accountNumber: parsed.data.accountNumber };
}
