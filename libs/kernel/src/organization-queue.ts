import { assertDefined } from "./assert.ts";
import { type Deferred, deferred } from "./deferred.ts";
import { OrganizationSlots, type SlotLimits } from "./organization-slots.ts";

/** No slot was free for a job within its time. The job was not run. */
export class QueueTimeout extends Error {
  override readonly name = "QueueTimeout";
}

/** Gives a slot back. */
type Release = () => void;

/**
 * Runs the jobs of all organizations on a limited number of slots. Jobs above the limits wait.
 * Organizations take turns: a free slot goes to the organization that has waited longest since its
 * last one, however many jobs another organization has.
 */
export class OrganizationQueue {
  readonly #slots: OrganizationSlots;
  /** Waiting jobs, by organization; the organization that is next comes first. */
  readonly #waiting = new Map<string, Deferred<Release>[]>();

  constructor(limits: SlotLimits) {
    this.#slots = new OrganizationSlots(limits);
  }

  /**
   * Runs `job` once a slot is free, and holds the slot until `job` has settled.
   * @throws QueueTimeout where no slot is free within `maxWaitMs`
   */
  async run<T>(organizationId: string, maxWaitMs: number, job: () => Promise<T>): Promise<T> {
    // While a slot is free, every organization that waits has its share already.
    const release = this.#slots.take(organizationId) ?? (await this.#wait(organizationId, maxWaitMs));
    try {
      return await job();
    } finally {
      release();
      this.#offerSlots();
    }
  }

  async #wait(organizationId: string, maxWaitMs: number): Promise<Release> {
    const slot = deferred<Release>();
    this.#waiting.set(organizationId, [...(this.#waiting.get(organizationId) ?? []), slot]);
    const timer = setTimeout(() => {
      this.#leave(organizationId, slot);
      slot.reject(new QueueTimeout(`no slot was free within ${maxWaitMs} ms`));
    }, maxWaitMs);
    try {
      return await slot.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #leave(organizationId: string, slot: Deferred<Release>): void {
    const others = (this.#waiting.get(organizationId) ?? []).filter((waiting) => waiting !== slot);
    if (others.length > 0) this.#waiting.set(organizationId, others);
    else this.#waiting.delete(organizationId);
  }

  /** Hands out free slots. An organization that gets one goes behind all others. */
  #offerSlots(): void {
    for (const [organizationId, [next, ...others]] of this.#waiting) {
      const release = this.#slots.take(organizationId);
      if (release === null) continue;
      this.#waiting.delete(organizationId);
      if (others.length > 0) this.#waiting.set(organizationId, others);
      assertDefined(next, "a waiting job").resolve(release);
    }
  }
}
