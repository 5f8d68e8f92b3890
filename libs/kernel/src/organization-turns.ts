import type { OrganizationSlots } from "./organization-slots.ts";

/**
 * Items that wait for a slot, by organization. Organizations take turns: an organization that gets
 * a slot moves to the end of the order, however many of its items still wait.
 */
export class OrganizationTurns<Item> {
  readonly #slots: OrganizationSlots;
  /** In the order of turns: the next organization comes first. */
  readonly #waiting = new Map<string, Item[]>();
  #size = 0;

  constructor(slots: OrganizationSlots) {
    this.#slots = slots;
  }

  /** Number of items that wait. */
  get size(): number {
    return this.#size;
  }

  /** Number of the organization's items that wait. */
  sizeOf(organizationId: string): number {
    return this.#waiting.get(organizationId)?.length ?? 0;
  }

  /** The next item of the organization. */
  firstOf(organizationId: string): Item | undefined {
    return this.#waiting.get(organizationId)?.[0];
  }

  add(organizationId: string, item: Item): void {
    const waiting = this.#waiting.get(organizationId);
    if (waiting === undefined) this.#waiting.set(organizationId, [item]);
    else waiting.push(item);
    this.#size += 1;
  }

  /** Removes the organization's items for which `isOver` returns true. */
  remove(organizationId: string, isOver: (item: Item) => boolean): void {
    const waiting = this.#waiting.get(organizationId) ?? [];
    const others = waiting.filter((item) => !isOver(item));
    this.#size -= waiting.length - others.length;
    if (others.length > 0) this.#waiting.set(organizationId, others);
    else this.#waiting.delete(organizationId);
  }

  /**
   * Takes each free slot and calls `give` with the next item and the function that releases the
   * slot.
   */
  offerSlots(give: (item: Item, release: () => void) => void): void {
    for (const [organizationId, waiting] of this.#waiting) {
      const release = this.#slots.take(organizationId);
      if (release === null) continue;
      // An organization that gets a slot moves to the end of the order.
      this.#waiting.delete(organizationId);
      const [next] = waiting.splice(0, 1);
      if (waiting.length > 0) this.#waiting.set(organizationId, waiting);
      this.#size -= 1;
      if (next !== undefined) give(next, release);
    }
  }
}
