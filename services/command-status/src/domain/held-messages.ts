import type { CommandMessage } from "@kapi/contracts";

import type { LogPosition } from "./ports.ts";

/** A message of `commands.*` where it is in the log. */
export interface LoggedMessage {
  readonly message: CommandMessage;
  readonly offset: bigint;
}

interface Entry extends LoggedMessage {
  readonly partition: Partition;
  readonly dueMs: number;
  written: boolean;
}

interface Partition {
  readonly topic: string;
  readonly partition: number;
  /** In the order of the log; what is written leaves at the front. */
  readonly entries: Entry[];
  nextOffset: bigint;
}

/**
 * The messages that are read and not written yet, and how far each partition is written without a gap. It decides nothing about time: who
 * holds a message tells until when.
 */
export class HeldMessages {
  readonly #partitions = new Map<string, Partition>();
  /** The first of each command; a repeat, which is the same, is written with it. */
  readonly #byCommand = new Map<string, Entry[]>();

  /** Commands of which a message is held. */
  get size(): number {
    return this.#byCommand.size;
  }

  /**
   * Adds what was read of one partition, up to `nextOffset`; `dueMsOf` tells when a message must be written at the latest. The answer
   * tells the first offset of the partition that is not written by now; after {@link clear} it says what it said before.
   */
  add(
    { topic, partition, nextOffset }: LogPosition,
    messages: readonly LoggedMessage[],
    dueMsOf: (commandId: string) => number,
  ): () => bigint {
    const place = placeOf(topic, partition);
    const held = this.#partitions.get(place) ?? { topic, partition, entries: [], nextOffset };
    this.#partitions.set(place, held);
    held.nextOffset = nextOffset;
    for (const { message, offset } of messages) {
      const entry = { message, offset, partition: held, dueMs: dueMsOf(message.commandId), written: false };
      held.entries.push(entry);
      const same = this.#byCommand.get(message.commandId);
      if (same === undefined) this.#byCommand.set(message.commandId, [entry]);
      else same.push(entry);
    }
    return () => held.entries[0]?.offset ?? held.nextOffset;
  }

  /** The message of the command, if it is held. */
  messageOf(commandId: string): CommandMessage | undefined {
    return this.#byCommand.get(commandId)?.[0]?.message;
  }

  /** The messages that must be written by `nowMs`, one of each command, `limit` at most. */
  due(nowMs: number, limit: number): CommandMessage[] {
    const due: CommandMessage[] = [];
    for (const [entry] of this.#byCommand.values()) {
      if (due.length >= limit) break;
      if (entry !== undefined && entry.dueMs <= nowMs) due.push(entry.message);
    }
    return due;
  }

  /** When the next one must be written; null where none is held. */
  nextDueMs(): number | null {
    let nextMs: number | null = null;
    for (const [entry] of this.#byCommand.values()) {
      if (entry !== undefined && (nextMs === null || entry.dueMs < nextMs)) nextMs = entry.dueMs;
    }
    return nextMs;
  }

  /** How far the partitions of these commands' messages are written once these commands are. */
  positionsWith(commandIds: readonly string[]): LogPosition[] {
    const entries = commandIds.flatMap((commandId) => this.#byCommand.get(commandId) ?? []);
    const written = new Set(entries);
    return [...new Set(entries.map(({ partition }) => partition))].map((held) => ({
      topic: held.topic,
      partition: held.partition,
      nextOffset: held.entries.find((entry) => !entry.written && !written.has(entry))?.offset ?? held.nextOffset,
    }));
  }

  /** These commands are written. */
  release(commandIds: readonly string[]): void {
    const touched = new Set<Partition>();
    for (const commandId of commandIds) {
      for (const entry of this.#byCommand.get(commandId) ?? []) {
        entry.written = true;
        touched.add(entry.partition);
      }
      this.#byCommand.delete(commandId);
    }
    for (const { entries } of touched) {
      const open = entries.findIndex((entry) => !entry.written);
      entries.splice(0, open === -1 ? entries.length : open);
    }
  }

  /** Whether a message of the partition is held. */
  hasOf({ topic, partition }: LogPosition): boolean {
    return (this.#partitions.get(placeOf(topic, partition))?.entries.length ?? 0) > 0;
  }

  /** Forgets everything: the partitions are somebody else's by now, or are read again from what was committed. */
  clear(): void {
    this.#partitions.clear();
    this.#byCommand.clear();
  }
}

function placeOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
