import { assert } from "./assert.ts";

export interface SlotLimits {
  /** Most slots that one organization has at once. */
  readonly perOrganization: number;
  /** Most slots of all organizations together; without it only their shares count. */
  readonly total?: number;
}

/** The slots of a resource that all organizations share: each has its share of them at most. */
export class OrganizationSlots {
  readonly #limits: SlotLimits;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: SlotLimits) {
    assert(limits.perOrganization >= 1, "every organization has at least one slot");
    this.#limits = limits;
  }

  /**
   * Takes a slot. Returns the function that gives it back, of which only the first call counts;
   * null where the organization has its share already, or where all slots are taken.
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

  /** An organization without a slot leaves nothing behind. */
  #set(organizationId: string, taken: number): void {
    if (taken === 0) this.#taken.delete(organizationId);
    else this.#taken.set(organizationId, taken);
  }
}
