/**
 * What became of each reference. The journal keeps every outcome for good; the newest are also here. A look-up in the
 * journal says what was there when it began, so an outcome that is younger than a look-up under way is never forgotten
 * before that look-up has been used.
 */
import type { Journal } from "../domain/ports.ts";

/** Outcomes that are remembered at least. */
const MAX_REMEMBERED = 50_000;

interface Remembered {
  readonly outcome: string;
  readonly rememberedAt: number;
}

/** What a look-up found; to be released when it has been used. */
export interface LookUp {
  /** The outcome (JSON text) of a reference, if it has one by now. */
  find(reference: string): string | undefined;
  release(): void;
}

export class References {
  readonly #journal: Journal;
  readonly #remembered = new Map<string, Remembered>();
  /** Counts outcomes; look-ups under way carry the count at which they began, in order. */
  #count = 0;
  readonly #lookUps = new Map<symbol, number>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Looks up references, in memory and then in the journal with one query. The caller releases the result. */
  async lookUp(serverId: string, references: readonly string[]): Promise<LookUp> {
    const id = Symbol("look-up");
    this.#lookUps.set(id, this.#count);
    const release = (): void => {
      this.#lookUps.delete(id);
      this.#forget();
    };
    try {
      const known = new Map<string, string>();
      const unknown: string[] = [];
      for (const reference of references) {
        const remembered = this.#remembered.get(keyOf(serverId, reference));
        if (remembered === undefined) unknown.push(reference);
        else known.set(reference, remembered.outcome);
      }
      const found = unknown.length === 0 ? known : await this.#journal.outcomesOf(serverId, unknown);
      return {
        find: (reference) =>
          known.get(reference) ?? this.#remembered.get(keyOf(serverId, reference))?.outcome ?? found.get(reference),
        release,
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Keeps the outcome of a reference that had none. */
  remember(serverId: string, reference: string, outcome: string): void {
    this.#count += 1;
    this.#remembered.set(keyOf(serverId, reference), { outcome, rememberedAt: this.#count });
  }

  #forget(): void {
    const oldestLookUp = this.#lookUps.values().next().value ?? Number.POSITIVE_INFINITY;
    for (const [key, { rememberedAt }] of this.#remembered) {
      if (this.#remembered.size <= MAX_REMEMBERED || rememberedAt > oldestLookUp) return;
      this.#remembered.delete(key);
    }
  }
}

function keyOf(serverId: string, reference: string): string {
  return `${serverId}/${reference}`;
}
