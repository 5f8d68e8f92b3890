import type { CommandEvent } from "@kapi/contracts";

import { collapseEvents } from "../domain/command-state.ts";
import type { ClaimKeeper, CommandStore, LogPosition } from "../domain/ports.ts";
import { tellClaims } from "./tell-claims.ts";

/** Takes a batch of `command.events` in, of one or more partitions: of each command the highest version wins, and a final state stays. Repeatable. */
export async function takeInCommandEvents(
  { store, claims }: { readonly store: CommandStore; readonly claims: ClaimKeeper },
  events: readonly CommandEvent[],
  positions: readonly LogPosition[],
): Promise<void> {
  const taken = await store.takeInEvents(collapseEvents(events), positions);
  await tellClaims(claims, taken);
}
