/**
 * Outcomes by reference. The journal keeps them permanently. The newest outcomes, and all that are
 * not stored yet, are also in memory. Concurrent requests with the same reference run one after
 * another, so a reference never has two outcomes.
 */
import { deferred } from "@kapi/kernel";

import type { Journal } from "./ports.ts";

/** Maximum number of outcomes in memory. Must be greater than the number of unstored outcomes. */
const MAX_CACHED = 50_000;

/** Locked references: no other request decides them before `release`. */
export interface HeldReferences {
  /** Known outcomes (JSON text) by reference. */
  readonly outcomes: ReadonlyMap<string, string>;
  release(): void;
}

/** Locks the references of a request, and finds their outcomes. */
export class References {
  readonly #journal: Pick<Journal, "outcomesOf">;
  readonly #remembered = new Map<string, string>();
  /** By key; resolves when the reference is released. */
  readonly #held = new Map<string, Promise<void>>();

  constructor(journal: Pick<Journal, "outcomesOf">) {
    this.#journal = journal;
  }

  /**
   * Waits until no other request holds any of `references`, holds them all, and looks up their
   * outcomes.
   */
  async hold(serverId: string, references: readonly string[]): Promise<HeldReferences> {
    const keys = references.map((reference) => keyOf(serverId, reference));
    for (let other = this.#holderOf(keys); other !== undefined; other = this.#holderOf(keys)) await other;
    // Locks all keys in one synchronous step, so that two requests cannot deadlock.
    const released = deferred<void>();
    for (const key of keys) this.#held.set(key, released.promise);
    const release = (): void => {
      for (const key of keys) this.#held.delete(key);
      released.resolve();
    };
    try {
      return { outcomes: await this.#outcomesOf(serverId, references), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Remembers the outcome of a held reference. */
  remember(serverId: string, reference: string, outcome: string): void {
    this.#remembered.set(keyOf(serverId, reference), outcome);
    if (this.#remembered.size <= MAX_CACHED) return;
    for (const oldest of this.#remembered.keys()) {
      this.#remembered.delete(oldest);
      return;
    }
  }

  #holderOf(keys: readonly string[]): Promise<void> | undefined {
    for (const key of keys) {
      const holder = this.#held.get(key);
      if (holder !== undefined) return holder;
    }
    return undefined;
  }

  async #outcomesOf(serverId: string, references: readonly string[]): Promise<Map<string, string>> {
    const outcomes = new Map<string, string>();
    const unknown: string[] = [];
    for (const reference of references) {
      const remembered = this.#remembered.get(keyOf(serverId, reference));
      if (remembered === undefined) unknown.push(reference);
      else outcomes.set(reference, remembered);
    }
    if (unknown.length === 0) return outcomes;
    for (const [reference, outcome] of await this.#journal.outcomesOf(serverId, unknown)) {
      outcomes.set(reference, outcome);
    }
    return outcomes;
  }
}

function keyOf(serverId: string, reference: string): string {
  return `${serverId}/${reference}`;
}
