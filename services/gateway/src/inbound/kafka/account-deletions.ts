import type { KnownAccounts } from "@kapi/admission";
import { TOPICS } from "@kapi/contracts";
import { type KafkaConnection, type LogReader, type Message, startLogReader } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";
import { z } from "zod";

const DELETED = "account.deleted";
/** Every deletion event contains this text. Events without it are not parsed. */
const DELETED_TEXT = Buffer.from(`"${DELETED}"`);
const AccountEvent = z.object({ type: z.string(), serverId: z.guid(), accountNumber: z.string() });

interface AccountDeletionsDependencies {
  readonly kafka: KafkaConnection;
  readonly knownAccounts: Pick<KnownAccounts<string>, "forget">;
  readonly logger: Logger;
  /** Called if the topic can no longer be read: deleted accounts would stay in the cache. */
  readonly fatal: (error: Error) => void;
  /** The first offset to read of each partition; a partition that is not named is not read. */
  readonly from: ReadonlyMap<number, bigint>;
}

/**
 * Removes deleted accounts from the cache of known accounts, whichever gateway or command deleted
 * them. The reader may start at the end of `account.events` while the cache is empty: an earlier
 * deletion then does not matter.
 */
export async function startDeletionReader(dependencies: AccountDeletionsDependencies): Promise<Started<LogReader>> {
  const { kafka, knownAccounts, logger, fatal, from } = dependencies;
  const reader = await startLogReader(kafka, {
    topic: TOPICS.accountEvents,
    from: "nothing",
    onBatch: (_partition, messages) => {
      for (const { serverId, accountNumber } of deletionsIn(messages)) knownAccounts.forget(serverId, accountNumber);
    },
    logger,
    fatal,
  });
  try {
    await reader.value.add(from);
  } catch (error) {
    await reader.stop();
    throw error;
  }
  return reader;
}

/**
 * The deletions among account events.
 * @throws Error for a malformed event that contains {@link DELETED_TEXT}: a defect of the account
 * service.
 */
export function deletionsIn(messages: readonly Pick<Message, "value">[]): z.infer<typeof AccountEvent>[] {
  return (
    messages
      .filter(({ value }) => value.includes(DELETED_TEXT))
      .map(({ value }) => AccountEvent.parse(JSON.parse(value.toString("utf8"))))
      // Another field, such as a name, may contain the text too.
      .filter(({ type }) => type === DELETED)
  );
}
