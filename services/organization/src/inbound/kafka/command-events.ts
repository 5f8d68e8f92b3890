import { CommandEvent } from "@kapi/contracts";
import { type Batch, type BatchOutcome, type DeadLetter, type Message, RetryableError } from "@kapi/kafka";
import { batcher } from "@kapi/kernel";
import { isTransient } from "@kapi/postgres";

import type { LedgerContext } from "../../operations/ledger-context.ts";
import { recordSettlements, type TakenIn } from "../../operations/record-settlements.ts";

const MAX_PARTITIONS_TOGETHER = 4;

/** What came of one partition. */
interface Part {
  readonly events: readonly CommandEvent[];
  readonly takenIn: TakenIn;
}

/** Takes batches of `command.events` into the ledger. Partitions that are handled at the same time share one transaction. */
export function takeCommandEvents(context: LedgerContext): (batch: Batch) => Promise<BatchOutcome> {
  const take = batcher<Part, void>({
    load: async (parts) => {
      const takenIn = parts.map((part) => part.takenIn);
      await recordSettlements(
        context,
        parts.flatMap((part) => part.events),
        takenIn,
      );
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
    if (last) await retryingTransient(() => take({ events, takenIn: { partition, nextOffset: last.offset + 1n } }));
    return { deadLetters };
  };
}

/** The event, or why the message is none. */
function eventFromWire(message: Message): CommandEvent | string {
  let json: unknown;
  try {
    json = JSON.parse(message.value.toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) return "the value is no JSON";
    throw error;
  }
  const parsed = CommandEvent.safeParse(json);
  return parsed.success ? parsed.data : `no command event: ${parsed.error.issues[0]?.path.join(".") ?? ""}`;
}

async function retryingTransient(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw isTransient(error) ? new RetryableError("the ledger is away", { cause: error }) : error;
  }
}
