import type { KnownAccounts } from "@kapi/admission";
import { TOPICS } from "@kapi/contracts";
import { createLogReader, endOffsets, type KafkaConnection, type LogReader, type Message } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";
import { z } from "zod";

const DELETED = "account.deleted";
/** Stands in every record of a deletion; of the others none is parsed. */
const MARK = Buffer.from(`"${DELETED}"`);
const DeletionEvent = z.object({ type: z.string(), serverId: z.guid(), accountNumber: z.string() });

export interface AccountDeletionsNeeds {
  readonly kafka: KafkaConnection;
  readonly knownAccounts: Pick<KnownAccounts<string>, "forget">;
  readonly logger: Logger;
  /**
   * Called once if the topic can no longer be read: deleted accounts would be remembered for good.
   */
  readonly fatal: (error: Error) => void;
}

/**
 * Makes the memory of accounts forget those that are deleted, by whatever gateway or command. Reads
 * `account.events` from its end: started before anything is remembered, it can have missed nothing
 * that matters.
 */
export async function followAccountDeletions(needs: AccountDeletionsNeeds): Promise<Started<LogReader>> {
  const { kafka, knownAccounts, logger, fatal } = needs;
  return createLogReader(kafka, {
    topic: TOPICS.accountEvents,
    from: await endOffsets(kafka, TOPICS.accountEvents),
    onBatch: (_partition, messages) => {
      for (const { serverId, accountNumber } of deletionsIn(messages)) knownAccounts.forget(serverId, accountNumber);
    },
    logger,
    fatal,
  });
}

/**
 * The deletions among account events. Throws for a deletion that cannot be read: kapi's own
 * services wrote it.
 */
export function deletionsIn(messages: readonly Pick<Message, "value">[]): z.infer<typeof DeletionEvent>[] {
  return (
    messages
      .filter(({ value }) => value.includes(MARK))
      .map(({ value }) => DeletionEvent.parse(JSON.parse(value.toString("utf8"))))
      // Another field may hold the mark as well, such as a name.
      .filter(({ type }) => type === DELETED)
  );
}
