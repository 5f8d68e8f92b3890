/**
 * Commands that applied, and whose end a settled fact writes. Whichever process books the fact
 * first makes the command final; where that was another one, this one finds it here and lets the
 * next command of the account run. Without it, the account would wait until the command is asked
 * for again. There is nothing to do while no command is pending.
 */
import type { Queryable } from "@kapi/postgres";

import { column } from "./columns.ts";
import type { Entry } from "./entry.ts";
import { END_WATCH_INTERVAL_MS, PENDING_TIMEOUT_MS } from "./limits.ts";
import { READ_FINAL } from "./statements.ts";

export interface EndWatchOptions {
  readonly database: Queryable;
  /** The command is final. */
  readonly onEnd: (entry: Entry) => void;
  readonly onError: (error: unknown) => void;
}

export class EndWatch {
  readonly #options: EndWatchOptions;
  /** The commands, and how many more looks each gets. */
  readonly #looks = new Map<Entry, number>();
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: EndWatchOptions) {
    this.#options = options;
  }

  /** Looks after `entry` until it is asked for again. */
  add(entry: Entry): void {
    this.#looks.set(entry, Math.ceil(PENDING_TIMEOUT_MS / END_WATCH_INTERVAL_MS));
    this.#lookLater();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #lookLater(): void {
    if (this.#stopped || this.#timer !== null || this.#looks.size === 0) return;
    this.#timer = setTimeout(() => {
      void this.#look().finally(() => {
        this.#timer = null;
        this.#lookLater();
      });
    }, END_WATCH_INTERVAL_MS);
  }

  async #look(): Promise<void> {
    const entries = [...this.#looks].filter(([entry, looks]) => !entry.gone && looks > 0);
    this.#looks.clear();
    for (const [entry, looks] of entries) this.#looks.set(entry, looks - 1);
    if (entries.length === 0) return;
    try {
      const ids = entries.map(([{ message }]) => message.commandId);
      const final = new Set(
        (await this.#options.database.query(READ_FINAL, [column(ids)])).map((row) => row.command_id),
      );
      for (const [entry] of entries) {
        if (!final.has(entry.message.commandId)) continue;
        this.#looks.delete(entry);
        if (!entry.gone) this.#options.onEnd(entry);
      }
    } catch (error) {
      this.#options.onError(error);
    }
  }
}
