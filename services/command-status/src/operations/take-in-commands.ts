import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";

import { collapseEvents, dropRepeats } from "../domain/command-state.ts";
import type { IdempotencyRecords, CommandStore, LogPosition, TakenIn } from "../domain/ports.ts";

export interface IntakeNeeds {
  readonly store: Pick<CommandStore, "takeInMessages" | "takeInEvents">;
  readonly records: IdempotencyRecords;
}

/**
 * Writes what was read of some partitions, with how far they are read by then. Both functions may
 * be repeated.
 */
export interface CommandIntake {
  readonly takeMessages: (messages: readonly AnyCommandMessage[], positions: readonly LogPosition[]) => Promise<void>;
  readonly takeEvents: (events: readonly CommandEvent[], positions: readonly LogPosition[]) => Promise<void>;
}

/** Makes the intake of `commands.*` and `command.events`. */
export function createIntake({ store, records }: IntakeNeeds): CommandIntake {
  return {
    takeMessages: async (messages, positions) => {
      await forgetRecords(records, await store.takeInMessages(dropRepeats(messages), positions));
    },
    // Of each command the highest version wins, and a final state stays.
    takeEvents: async (events, positions) => {
      await forgetRecords(records, await store.takeInEvents(collapseEvents(events), positions));
    },
  };
}

/**
 * Forgets the records of commands that are final and can be read here now; always after the commit.
 */
async function forgetRecords(records: IdempotencyRecords, taken: readonly TakenIn[]): Promise<void> {
  const over = taken.filter((row) => row.final && row.readable);
  if (over.length > 0) await records.forget(over);
}
