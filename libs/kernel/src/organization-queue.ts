import { type Deferred, deferred } from "./deferred.ts";
import { OrganizationSlots, type SlotLimits } from "./organization-slots.ts";
import { OrganizationTurns } from "./organization-turns.ts";

/** No slot was free within the maximum wait of a job. The job was not run. */
export class QueueTimeout extends Error {
  override readonly name = "QueueTimeout";
}

/** Releases a slot. */
type Release = () => void;

/**
 * Runs the jobs of all organizations on a limited number of slots. Jobs above the limits wait, and
 * organizations take turns ({@link OrganizationTurns}).
 */
export class OrganizationQueue {
  readonly #slots: OrganizationSlots;
  readonly #turns: OrganizationTurns<Deferred<Release>>;

  constructor(limits: SlotLimits) {
    this.#slots = new OrganizationSlots(limits);
    this.#turns = new OrganizationTurns(this.#slots);
  }

  /**
   * Runs `job` as soon as a slot is free, and holds the slot until `job` has settled.
   * @throws QueueTimeout if no slot is free within `maxWaitMs`
   */
  async run<T>(organizationId: string, maxWaitMs: number, job: () => Promise<T>): Promise<T> {
    // If a slot is free, every organization that waits already holds its share.
    const release = this.#slots.take(organizationId) ?? (await this.#wait(organizationId, maxWaitMs));
    try {
      return await job();
    } finally {
      release();
      this.#turns.offerSlots((slot, free) => slot.resolve(free));
    }
  }

  async #wait(organizationId: string, maxWaitMs: number): Promise<Release> {
    const slot = deferred<Release>();
    this.#turns.add(organizationId, slot);
    const timer = setTimeout(() => {
      this.#turns.remove(organizationId, slot);
      slot.reject(new QueueTimeout(`no slot was free within ${maxWaitMs} ms`));
    }, maxWaitMs);
    try {
      return await slot.promise;
    } finally {
      clearTimeout(timer);
    }
  }
}
