import { type Deferred, deferred } from "./deferred.ts";
import { OrganizationSlots, type SlotLimits } from "./organization-slots.ts";
import { OrganizationTurns } from "./organization-turns.ts";

/** A job got no slot within its maximum wait. The job was not run. */
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
   * Runs `job` as soon as it gets a slot, and holds the slot until `job` has settled.
   * @throws QueueTimeout if `job` gets no slot within `maxWaitMs`
   */
  async run<T>(organizationId: string, maxWaitMs: number, job: () => Promise<T>): Promise<T> {
    // A free slot can be taken at once: every organization that waits already holds its share.
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
      slot.reject(new QueueTimeout(`the job got no slot within ${maxWaitMs} ms`));
    }, maxWaitMs);
    try {
      return await slot.promise;
    } finally {
      clearTimeout(timer);
    }
  }
}
