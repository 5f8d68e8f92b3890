import type { OrganizationSlots } from "./organization-slots.ts";

/**
 * What waits for a slot, by organization. Organizations take turns: a free slot goes to the one
 * that has waited longest since its last one, however much of another one waits.
 */
export class OrganizationTurns<Item> {
  readonly #slots: OrganizationSlots;
  /** The organization that is next comes first. */
  readonly #waiting = new Map<string, Item[]>();
  #size = 0;

  constructor(slots: OrganizationSlots) {
    this.#slots = slots;
  }

  /** How many items wait. */
  get size(): number {
    return this.#size;
  }

  /** How many items of the organization wait. */
  sizeOf(organizationId: string): number {
    return this.#waiting.get(organizationId)?.length ?? 0;
  }

  /** The item of the organization that is next. */
  firstOf(organizationId: string): Item | undefined {
    return this.#waiting.get(organizationId)?.[0];
  }

  add(organizationId: string, item: Item): void {
    const waiting = this.#waiting.get(organizationId);
    if (waiting === undefined) this.#waiting.set(organizationId, [item]);
    else waiting.push(item);
    this.#size += 1;
  }

  /** Removes those items of the organization for which `isOver` is true. */
  remove(organizationId: string, isOver: (item: Item) => boolean): void {
    const waiting = this.#waiting.get(organizationId) ?? [];
    const others = waiting.filter((item) => !isOver(item));
    this.#size -= waiting.length - others.length;
    if (others.length > 0) this.#waiting.set(organizationId, others);
    else this.#waiting.delete(organizationId);
  }

  /** Passes free slots to `give`, each with the next item and the function that gives it back. */
  offerSlots(give: (item: Item, release: () => void) => void): void {
    for (const [organizationId, waiting] of this.#waiting) {
      const release = this.#slots.take(organizationId);
      if (release === null) continue;
      // An organization that gets a slot goes behind all others.
      this.#waiting.delete(organizationId);
      const [next] = waiting.splice(0, 1);
      if (waiting.length > 0) this.#waiting.set(organizationId, waiting);
      this.#size -= 1;
      if (next !== undefined) give(next, release);
    }
  }
}
