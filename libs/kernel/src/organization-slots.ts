import { assert } from "./assert.ts";

/**
 * Limits of {@link OrganizationSlots}. A share below the total keeps slots for other organizations.
 */
export interface SlotLimits {
  /** Maximum number of slots that one organization holds at the same time. */
  readonly perOrganization: number;
  /** Maximum number of slots of all organizations together. Default: unlimited. */
  readonly total?: number;
}

/**
 * The slots of a resource that all organizations share. Each organization holds at most its share.
 */
export class OrganizationSlots {
  readonly #limits: SlotLimits;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: SlotLimits) {
    assert(limits.perOrganization >= 1, "an organization must be allowed at least one slot");
    this.#limits = limits;
  }

  /**
   * Takes a slot. Returns the function that releases it; further calls of that function do nothing.
   * Returns null if the organization already holds its share, or if no slot is free.
   */
  take(organizationId: string): (() => void) | null {
    const taken = this.#taken.get(organizationId) ?? 0;
    if (taken >= this.#limits.perOrganization || this.#total >= (this.#limits.total ?? Infinity)) return null;
    this.#set(organizationId, taken + 1);
    this.#total += 1;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#set(organizationId, (this.#taken.get(organizationId) ?? 0) - 1);
      this.#total -= 1;
    };
  }

  /** Deletes the entry of an organization without slots, so that the map does not grow. */
  #set(organizationId: string, taken: number): void {
    if (taken === 0) this.#taken.delete(organizationId);
    else this.#taken.set(organizationId, taken);
  }
}
