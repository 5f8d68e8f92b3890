import type { CommandMessage } from "@kapi/contracts";

import { dropRepeats } from "../domain/command-state.ts";
import type { ClaimKeeper, CommandStore, LogPosition } from "../domain/ports.ts";
import { tellClaims } from "./tell-claims.ts";

/** Takes a batch of `commands.*` in, of one or more partitions: queued rows, or the missing half of rows whose event came first. Repeatable. */
export async function takeInCommandMessages(
  { store, claims }: { readonly store: CommandStore; readonly claims: ClaimKeeper },
  messages: readonly CommandMessage[],
  positions: readonly LogPosition[],
): Promise<void> {
  const taken = await store.takeInMessages(dropRepeats(messages), positions);
  await tellClaims(claims, taken);
}
