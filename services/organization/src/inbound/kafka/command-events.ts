import { CommandEvent } from "@kapi/contracts";
import { type Batch, type BatchOutcome, type DeadLetter, type Message, RetryableError } from "@kapi/kafka";
import { isTransient } from "@kapi/postgres";

import type { LedgerContext } from "../../operations/ledger-context.ts";
import { recordSettlements } from "../../operations/record-settlements.ts";

/** Takes batches of `command.events` into the ledger. */
export function takeCommandEvents(context: LedgerContext): (batch: Batch) => Promise<BatchOutcome> {
  return async ({ partition, messages }) => {
    const deadLetters: DeadLetter[] = [];
    const events: CommandEvent[] = [];
    for (const message of messages) {
      const event = eventFromWire(message);
      if (typeof event === "string") deadLetters.push({ message, reason: event, includeValue: true });
      else events.push(event);
    }
    const last = messages.at(-1);
    if (last)
      await retryingTransient(() => recordSettlements(context, events, { partition, nextOffset: last.offset + 1n }));
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
