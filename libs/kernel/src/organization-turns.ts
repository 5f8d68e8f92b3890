import { assertDefined } from "./assert.ts";
import type { OrganizationSlots } from "./organization-slots.ts";

/**
 * Items that wait for a slot, by organization. Organizations take turns: an organization that gets
 * a slot moves to the end of the order, however many of its items still wait.
 */
export class OrganizationTurns<Item> {
  readonly #slots: OrganizationSlots;
  /** In the order of turns: the next organization comes first. */
  readonly #waiting = new Map<string, Set<Item>>();
  #size = 0;
  #isOffering = false;
  #isOfferedAgain = false;

  constructor(slots: OrganizationSlots) {
    this.#slots = slots;
  }

  /** Number of items that wait. */
  get size(): number {
    return this.#size;
  }

  /** Number of the organization's items that wait. */
  sizeOf(organizationId: string): number {
    return this.#waiting.get(organizationId)?.size ?? 0;
  }

  /** Adds an item that does not wait yet. */
  add(organizationId: string, item: Item): void {
    const waiting = this.#waiting.get(organizationId);
    if (waiting === undefined) this.#waiting.set(organizationId, new Set([item]));
    else waiting.add(item);
    this.#size += 1;
  }

  /** Removes an item of the organization. Does nothing if the item no longer waits. */
  remove(organizationId: string, item: Item): void {
    const waiting = this.#waiting.get(organizationId);
    if (waiting?.delete(item) !== true) return;
    this.#size -= 1;
    if (waiting.size === 0) this.#waiting.delete(organizationId);
  }

  /**
   * Takes each free slot and calls `give` with the next item and the function that releases the
   * slot. A call within `give` returns at once: the outer call then offers the slots again.
   */
  offerSlots(give: (item: Item, release: () => void) => void): void {
    this.#isOfferedAgain = true;
    if (this.#isOffering) return;
    this.#isOffering = true;
    try {
      while (this.#isOfferedAgain) {
        this.#isOfferedAgain = false;
        this.#offerOnce(give);
      }
    } finally {
      this.#isOffering = false;
    }
  }

  #offerOnce(give: (item: Item, release: () => void) => void): void {
    for (const [organizationId, waiting] of this.#waiting) {
      const release = this.#slots.take(organizationId);
      if (release === null) continue;
      // An organization that gets a slot moves to the end of the order.
      this.#waiting.delete(organizationId);
      const [first] = waiting;
      const next = assertDefined(first, "an item of an organization that waits");
      waiting.delete(next);
      if (waiting.size > 0) this.#waiting.set(organizationId, waiting);
      this.#size -= 1;
      give(next, release);
    }
  }
}
