/**
 * The life of a command as one table (decisions, 3.1). `leased` is written only for an attempt that
 * lasts, so a fast command goes from `queued` to its end in one step.
 */
import { assert } from "@kapi/kernel";
import type { CommandStatus } from "@kapi/contracts";

const MOVES: Readonly<Record<CommandStatus, readonly CommandStatus[]>> = {
  // To itself: an attempt too short to be shown ended without an answer.
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

/** Throws where {@link mayMove} says no: our own mistake, never a caller's. */
export function assertMove(commandId: string, from: CommandStatus, to: CommandStatus): void {
  assert(mayMove(from, to), `command ${commandId} cannot go from ${from} to ${to}`);
}
