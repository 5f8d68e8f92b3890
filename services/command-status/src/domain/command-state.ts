import { type CommandEvent, type CommandStatus, isFinal } from "@kapi/contracts";

/** What decides between two states of one command. */
export interface CommandState {
  readonly version: number;
  readonly status: CommandStatus;
}

/**
 * Whether `next` replaces `current`: the highest version wins, and a final state never changes
 * (decisions, 3.1).
 */
export function supersedes(next: CommandState, current: CommandState): boolean {
  return !isFinal(current.status) && next.version > current.version;
}

/** One event per command: what is left when `events` of a log are applied in order. */
export function collapseEvents(events: readonly CommandEvent[]): CommandEvent[] {
  const newest = new Map<string, CommandEvent>();
  for (const event of events) {
    const current = newest.get(event.commandId);
    if (current === undefined || supersedes(event, current)) newest.set(event.commandId, event);
  }
  return [...newest.values()];
}

/**
 * The first of each command id: a message may be published more than once, and always is the same
 * (decisions, 2.6).
 */
export function dropRepeats<T extends { readonly commandId: string }>(messages: readonly T[]): T[] {
  const first = new Map<string, T>();
  for (const message of messages) if (!first.has(message.commandId)) first.set(message.commandId, message);
  return [...first.values()];
}
