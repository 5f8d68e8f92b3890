import { OrganizationSlots, OrganizationTurns } from "@kapi/kernel";
import type { Dispatcher } from "undici";

import { tooManyConcurrentRequests } from "./api-error.ts";
import type { Call } from "./call.ts";

export interface CallLimits {
  /** Maximum number of calls under way at once. */
  readonly maxRunning: number;
  /** Maximum number of calls that wait. */
  readonly maxWaiting: number;
  /** The same of one organization's calls. */
  readonly maxRunningPerOrganization: number;
  readonly maxWaitingPerOrganization: number;
}

interface Waiting {
  readonly options: Dispatcher.DispatchOptions;
  readonly call: Call;
}

/**
 * Sends a limited number of calls at once. The others wait here, and organizations take turns. A
 * call whose deadline passed while it waited is never sent: undici's own queue would send it, and
 * close a connection to take it back.
 */
export class CallQueue {
  readonly #dispatcher: () => Dispatcher;
  readonly #limits: CallLimits;
  readonly #slots: OrganizationSlots;
  readonly #turns: OrganizationTurns<Waiting>;

  constructor(dispatcher: () => Dispatcher, limits: CallLimits) {
    this.#dispatcher = dispatcher;
    this.#limits = limits;
    this.#slots = new OrganizationSlots({
      perOrganization: limits.maxRunningPerOrganization,
      total: limits.maxRunning,
    });
    this.#turns = new OrganizationTurns(this.#slots);
  }

  /**
   * Sends the call now or when its turn comes. The outcome is the call's `response`. A call too
   * many fails at once, with TOO_MANY_CONCURRENT_REQUESTS where its organization alone has too
   * many.
   */
  send(options: Dispatcher.DispatchOptions, call: Call, organizationId: string): void {
    // While a slot is free, every organization that waits has its share already.
    const release = this.#slots.take(organizationId);
    if (release !== null) return this.#run({ options, call }, release);
    // Deadlines pass in about the order of the calls.
    if (this.#isFull(organizationId) && this.#turns.firstOf(organizationId)?.call.settled === true) {
      this.#turns.remove(organizationId, (waiting) => waiting.call.settled);
    }
    const { maxWaiting } = this.#limits;
    if (this.#turns.size >= maxWaiting) call.fail(new Error(`${maxWaiting} calls are waiting already`));
    else if (this.#isFull(organizationId)) call.fail(tooManyConcurrentRequests());
    else this.#turns.add(organizationId, { options, call });
  }

  #isFull(organizationId: string): boolean {
    const { maxWaiting, maxWaitingPerOrganization } = this.#limits;
    return this.#turns.size >= maxWaiting || this.#turns.sizeOf(organizationId) >= maxWaitingPerOrganization;
  }

  #run({ options, call }: Waiting, release: () => void): void {
    if (call.settled) return release();
    call.onFinished = (): void => {
      release();
      this.#turns.offerSlots((next, free) => this.#run(next, free));
    };
    try {
      this.#dispatcher().dispatch(options, call);
    } catch (error) {
      call.fail(error instanceof Error ? error : new Error(String(error)));
      call.finish();
    }
  }
}
