import { type CommandEvent, type CommandStatus, isFinal } from "@kapi/contracts";

/** The fields that decide which of two states of a command is newer. */
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

/**
 * Reduces `events`, in log order, to one event per command. An event replaces the event before it
 * only if it {@link supersedes} that event.
 */
export function collapseEvents(events: readonly CommandEvent[]): CommandEvent[] {
  const newest = new Map<string, CommandEvent>();
  for (const event of events) {
    const current = newest.get(event.commandId);
    if (current === undefined || supersedes(event, current)) newest.set(event.commandId, event);
  }
  return [...newest.values()];
}

/**
 * Keeps the first message of each command id. A message may be published more than once. The times
 * of a later copy may be later (decisions, 2.6).
 */
export function dropDuplicates<T extends { readonly commandId: string }>(messages: readonly T[]): T[] {
  const first = new Map<string, T>();
  for (const message of messages) if (!first.has(message.commandId)) first.set(message.commandId, message);
  return [...first.values()];
}
