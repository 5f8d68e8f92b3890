/**
 * Polls the inbox rows of pending commands (see `CommandOutcome`). Another process may make such a
 * command final. This process then finds the final state in the row and runs the account's next
 * command, without waiting for the retry. It polls only while a command is pending.
 */
import type { Queryable } from "@kapi/postgres";

import { column } from "./columns.ts";
import type { Entry } from "./entry.ts";
import { FINAL_STATE_POLL_INTERVAL_MS, PENDING_TIMEOUT_MS } from "./limits.ts";
import { READ_FINAL } from "./statements.ts";

/** Where to look for final states, and who gets them. */
interface FinalStatePollerOptions {
  readonly database: Queryable;
  /** Called when a command is final. */
  readonly onFinal: (entry: Entry) => void;
  /** Called when the inbox could not be read. The next poll reads it again. */
  readonly onError: (error: unknown) => void;
}

/** Polls for the final states of pending commands. */
export class FinalStatePoller {
  readonly #options: FinalStatePollerOptions;
  /** How many polls each command has left. */
  readonly #polls = new Map<Entry, number>();
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: FinalStatePollerOptions) {
    this.#options = options;
  }

  /** Polls for `entry` until its retry is due. */
  add(entry: Entry): void {
    this.#polls.set(entry, Math.ceil(PENDING_TIMEOUT_MS / FINAL_STATE_POLL_INTERVAL_MS));
    this.#pollLater();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #pollLater(): void {
    if (this.#stopped || this.#timer !== null || this.#polls.size === 0) return;
    this.#timer = setTimeout(() => {
      void this.#poll().finally(() => {
        this.#timer = null;
        this.#pollLater();
      });
    }, FINAL_STATE_POLL_INTERVAL_MS);
  }

  async #poll(): Promise<void> {
    const entries = [...this.#polls].filter(([entry, polls]) => !entry.dropped && polls > 0);
    this.#polls.clear();
    for (const [entry, polls] of entries) this.#polls.set(entry, polls - 1);
    if (entries.length === 0) return;
    try {
      const ids = entries.map(([{ message }]) => message.commandId);
      const final = new Set(
        (await this.#options.database.query(READ_FINAL, [column(ids)])).map((row) => row.command_id),
      );
      for (const [entry] of entries) {
        if (!final.has(entry.message.commandId)) continue;
        this.#polls.delete(entry);
        if (!entry.dropped) this.#options.onFinal(entry);
      }
    } catch (error) {
      this.#options.onError(error);
    }
  }
}
