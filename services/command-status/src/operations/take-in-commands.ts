import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";

import { collapseEvents, dropRepeats } from "../domain/command-state.ts";
import type { ClaimKeeper, CommandStore, LogPosition, TakenIn } from "../domain/ports.ts";

export interface IntakeNeeds {
  readonly store: Pick<CommandStore, "takeInMessages" | "takeInEvents">;
  readonly claims: ClaimKeeper;
}

/** Writes what was read of some partitions, with how far they are read by then. Both functions may be repeated. */
export interface CommandIntake {
  readonly takeMessages: (messages: readonly AnyCommandMessage[], positions: readonly LogPosition[]) => Promise<void>;
  readonly takeEvents: (events: readonly CommandEvent[], positions: readonly LogPosition[]) => Promise<void>;
}

/** Makes the intake of `commands.*` and `command.events`. */
export function createIntake({ store, claims }: IntakeNeeds): CommandIntake {
  return {
    takeMessages: async (messages, positions) => {
      await tellClaims(claims, await store.takeInMessages(dropRepeats(messages), positions));
    },
    // Of each command the highest version wins, and a final state stays.
    takeEvents: async (events, positions) => {
      await tellClaims(claims, await store.takeInEvents(collapseEvents(events), positions));
    },
  };
}

/** Tells the claims what is final and can be read here now; always after the commit. */
async function tellClaims(claims: ClaimKeeper, taken: readonly TakenIn[]): Promise<void> {
  const over = taken.filter((row) => row.final && row.readable);
  if (over.length > 0) await claims.forget(over);
}
