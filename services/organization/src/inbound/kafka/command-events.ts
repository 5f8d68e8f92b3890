import { CommandEvent } from "@kapi/contracts";
import { type Batch, type BatchOutcome, type DeadLetter, type Message, RetryableError } from "@kapi/kafka";
import { batcher } from "@kapi/kernel";
import { isTransient } from "@kapi/postgres";
import { inBatchSpan, type Traceparent } from "@kapi/runtime";

import type { LedgerContext } from "../../operations/credits/ledger-context.ts";
import { recordSettlements, type ReachedOffset } from "../../operations/credits/record-settlements.ts";

/** Maximum number of partitions whose batches one transaction records. */
const MAX_PARTITIONS_TOGETHER = 4;

/** A batch of one partition. */
interface PartitionBatch {
  readonly events: readonly CommandEvent[];
  readonly reached: ReachedOffset;
  /** Spans of its traced messages. */
  readonly members: readonly (Traceparent | undefined)[];
}

/**
 * Records batches of `command.events` in the ledger. Partitions that are handled concurrently share
 * a transaction.
 */
export function consumeCommandEvents(context: LedgerContext): (batch: Batch) => Promise<BatchOutcome> {
  const record = batcher<PartitionBatch, void>({
    load: async (parts) => {
      const reached = parts.map((part) => part.reached);
      const events = parts.flatMap((part) => part.events);
      const members = parts.flatMap((part) => part.members);
      await inBatchSpan("record settlements", members, () => recordSettlements(context, events, reached));
      return parts.map(() => undefined);
    },
    maxBatchSize: MAX_PARTITIONS_TOGETHER,
    maxConcurrentBatches: 1,
  });
  return async ({ partition, messages }) => {
    const deadLetters: DeadLetter[] = [];
    const events: CommandEvent[] = [];
    for (const message of messages) {
      const event = eventFromWire(message);
      if (typeof event === "string") deadLetters.push({ message, reason: event, includeValue: true });
      else events.push(event);
    }
    const last = messages.at(-1);
    if (last === undefined) return { deadLetters };
    const reached = { partition, nextOffset: last.offset + 1n };
    const members = messages.map(({ traceparent }) => traceparent);
    await retryingTransient(() => record({ events, reached, members }));
    return { deadLetters };
  };
}

/** The event, or why the message is invalid. */
function eventFromWire(message: Message): CommandEvent | string {
  let json: unknown;
  try {
    json = JSON.parse(message.value.toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) return "the value is not JSON";
    throw error;
  }
  const parsed = CommandEvent.safeParse(json);
  return parsed.success ? parsed.data : `not a command event: ${parsed.error.issues[0]?.path.join(".") ?? ""}`;
}

async function retryingTransient(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw isTransient(error) ? new RetryableError("the ledger is unavailable", { cause: error }) : error;
  }
}
