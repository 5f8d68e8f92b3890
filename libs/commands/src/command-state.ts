/**
 * The allowed changes of a command's state (decisions, 3.1). `leased` is written only for a long
 * attempt, so a fast command goes from `queued` to its final state in one step.
 */
import { assert } from "@kapi/kernel";
import type { CommandStatus } from "@kapi/contracts";

const MOVES: Readonly<Record<CommandStatus, readonly CommandStatus[]>> = {
  // `queued` to `queued`: a short attempt, which was never shown as leased, is to be retried.
  queued: ["leased", "queued", "succeeded", "failed", "expired"],
  leased: ["queued", "succeeded", "failed"],
  succeeded: [],
  failed: [],
  expired: [],
};

/** Whether a command in state `from` may become `to`. */
export function mayMove(from: CommandStatus, to: CommandStatus): boolean {
  return MOVES[from].includes(to);
}

/** Throws if {@link mayMove} returns false: a defect in kapi, never a caller's mistake. */
export function assertMove(commandId: string, from: CommandStatus, to: CommandStatus): void {
  assert(mayMove(from, to), `command ${commandId} cannot go from ${from} to ${to}`);
}
