import { type CommandEvent, type CommandMessage, queuedCommand } from "@kapi/contracts";

import { collapseEvents } from "../domain/command-state.ts";
import { HeldMessages, type LoggedMessage } from "../domain/held-messages.ts";
import type { ClaimKeeper, CommandStore, LogPosition, StoredCommand, TakenIn, WholeCommand } from "../domain/ports.ts";
import { tellClaims } from "./tell-claims.ts";

/**
 * How long a message waits for an event of its command. Most commands are over by then, and are written once; the others are in lists
 * this much later. Asked for by its id a command is queued meanwhile, here and in its claim (decisions, 3.7).
 */
const HOLD_MS = 250;
/** Commands held at once; while there are more, no further messages are taken. */
const MAX_HELD = 5_000;
/** Most rows of one statement. */
const MAX_BATCH = 1_000;
/** Commands whose event came before their message, of which is remembered that they wait for it. */
const MAX_EARLY = 10_000;
/** How long after a statement that failed the messages are tried again. */
const RETRY_MS = 500;

/** No more messages can be held; they must be offered again. */
export class TooManyHeld extends Error {
  override readonly name = "TooManyHeld";
}

export interface IntakeNeeds {
  readonly store: CommandStore;
  readonly claims: ClaimKeeper;
  /** Whether this process reads the partition that the command's events are in; only then is it worth waiting for them. */
  readonly readsEventsOf: (commandId: string) => boolean;
  /** A statement failed while no caller waited for it; the messages stay, and are tried again. Throws nothing. */
  readonly failed: (error: unknown) => void;
  /** Milliseconds that pass evenly, whatever is done to the machine's clock. Default `performance.now`. */
  readonly nowMs?: () => number;
}

/**
 * Takes `commands.*` and `command.events` in. A message is held for {@link HOLD_MS}: with its first event it becomes one row, written
 * once; without, a queued one. Nothing of this is lost with the process: a held message is read again, for no position and no
 * committed offset goes beyond it. One statement runs at a time, so that each knows what is written before it.
 */
export class CommandIntake {
  readonly #needs: Required<IntakeNeeds>;
  readonly #held = new HeldMessages();
  readonly #early = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #notBeforeMs = 0;
  #stopped = false;

  constructor(needs: IntakeNeeds) {
    this.#needs = { nowMs: () => performance.now(), ...needs };
  }

  /** The message of a command that is not written yet, if it is held here. */
  messageOf(commandId: string): CommandMessage | undefined {
    return this.#held.messageOf(commandId);
  }

  /**
   * Takes what was read of one partition, up to `position`. The answer tells how far the partition is written by now.
   * @throws TooManyHeld
   */
  async takeMessages(position: LogPosition, messages: readonly LoggedMessage[]): Promise<() => bigint> {
    if (this.#held.size + messages.length > MAX_HELD) throw new TooManyHeld(`${this.#held.size} messages are held`);
    if (messages.length === 0 && !this.#held.hasOf(position)) {
      await this.#alone(() => this.#needs.store.takeInMessages([], [position]));
    }
    const nowMs = this.#needs.nowMs();
    const dueMsOf = (commandId: string): number => nowMs + (this.#isWorthWaiting(commandId) ? HOLD_MS : 0);
    const writtenUpTo = this.#held.add(position, messages, dueMsOf);
    this.#writeLater();
    return writtenUpTo;
  }

  /** Takes a batch of events in, of one or more partitions: of each command the highest version wins, and a final state stays. Repeatable. */
  takeEvents(events: readonly CommandEvent[], positions: readonly LogPosition[]): Promise<void> {
    return this.#alone(async () => {
      const { store, claims } = this.#needs;
      const newest = collapseEvents(events);
      const whole: WholeCommand[] = [];
      const apart: CommandEvent[] = [];
      for (const event of newest) {
        const message = this.#held.messageOf(event.commandId);
        if (message === undefined) apart.push(event);
        else whole.push({ message, event });
      }
      const ids = whole.map(({ event }) => event.commandId);
      const places = [...this.#held.positionsWith(ids), ...positions];
      const written = whole.length === 0 ? [] : await store.insertWhole(whole, apart.length === 0 ? places : []);
      // Where a row is there already, its two halves meet it one after the other.
      const known = written.length === whole.length ? [] : missing(whole, written);
      const messages = known.map(({ message }) => message);
      const added = messages.length === 0 ? [] : await store.takeInMessages(messages, []);
      const rest = [...apart, ...known.map(({ event }) => event)];
      const changed = rest.length > 0 || whole.length === 0 ? await store.takeInEvents(rest, places) : [];
      await tellClaims(claims, [...written, ...added, ...changed]);
      this.#held.release(ids);
      this.#remember(changed);
    });
  }

  /** Writes all that is held, whether it is time or not. */
  async writeAll(): Promise<void> {
    while (this.#held.size > 0) await this.#write(Number.POSITIVE_INFINITY);
  }

  /** Forgets what is held: it is read again, by whoever has its partition now. */
  async forget(): Promise<void> {
    await this.#alone(async () => this.#held.clear());
  }

  /** Ends the timer. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#stopped = true;
  }

  #isWorthWaiting(commandId: string): boolean {
    return !this.#early.delete(commandId) && this.#needs.readsEventsOf(commandId);
  }

  /** Writes the messages whose time has come by `nowMs`, with the state that their rows have then. */
  #write(nowMs: number): Promise<void> {
    return this.#alone(async () => {
      const messages = this.#held.due(nowMs, MAX_BATCH);
      if (messages.length === 0) return;
      const ids = messages.map(({ commandId }) => commandId);
      const taken = await this.#needs.store.takeInMessages(messages, this.#held.positionsWith(ids));
      await tellClaims(this.#needs.claims, taken);
      this.#held.release(ids);
    });
  }

  #writeLater(): void {
    const dueMs = this.#held.nextDueMs();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (dueMs === null || this.#stopped) return;
    const nowMs = this.#needs.nowMs();
    const inMs = Math.max(0, dueMs - nowMs, this.#notBeforeMs - nowMs);
    this.#timer = setTimeout(() => void this.#writeDue(), inMs);
  }

  async #writeDue(): Promise<void> {
    this.#timer = null;
    try {
      await this.#write(this.#needs.nowMs());
    } catch (error) {
      this.#notBeforeMs = this.#needs.nowMs() + RETRY_MS;
      this.#needs.failed(error);
    }
    this.#writeLater();
  }

  /** Commands whose message is still to come; it has waited long enough then. */
  #remember(changed: readonly TakenIn[]): void {
    for (const { commandId, readable } of changed) {
      if (readable) continue;
      this.#early.add(commandId);
      if (this.#early.size > MAX_EARLY) for (const oldest of this.#early.keys()) return void this.#early.delete(oldest);
    }
  }

  /** Runs `work` after all that was begun before it, whether that failed or not. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** The store, with the commands that are held and not written yet: they are queued. */
export function knowingHeld(store: CommandStore, intake: Pick<CommandIntake, "messageOf">): CommandStore {
  return {
    ...store,
    byIds: async (commandIds) => {
      // First what is held, then the rows: what is written in between is in one of the two.
      const messages = commandIds.map((commandId) => intake.messageOf(commandId));
      const found = await store.byIds(commandIds);
      return found.map((command, index) => {
        const message = messages[index];
        return command === null && message !== undefined ? asQueued(message) : command;
      });
    },
  };
}

function asQueued(message: CommandMessage): StoredCommand {
  const { commandId, organizationId, fingerprint, derivationKeyId } = message;
  const json = JSON.stringify(queuedCommand(message));
  return { commandId, organizationId, fingerprint, derivationKeyId, isFinal: false, json };
}

function missing(whole: readonly WholeCommand[], written: readonly TakenIn[]): WholeCommand[] {
  const ids = new Set(written.map(({ commandId }) => commandId));
  return whole.filter(({ event }) => !ids.has(event.commandId));
}
