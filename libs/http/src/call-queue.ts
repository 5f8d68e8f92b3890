import { OrganizationSlots } from "@kapi/kernel";
import type { Dispatcher } from "undici";

import { tooManyConcurrentRequests } from "./api-error.ts";
import type { Call } from "./call.ts";

export interface CallLimits {
  /** Most calls under way at once. */
  readonly maxRunning: number;
  /** Most calls that wait. */
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
 * Sends a limited number of calls at once; the others wait here. Organizations take turns: a free
 * place goes to the one that has waited longest since its last one, however many calls another has.
 * A call whose deadline passed while it waited is never sent: undici's own queue would send it, and
 * close a connection to take it back.
 */
export class CallQueue {
  readonly #dispatcher: () => Dispatcher;
  readonly #limits: CallLimits;
  readonly #places: OrganizationSlots;
  /** Waiting calls, by organization; the organization that is next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCalls = 0;

  constructor(dispatcher: () => Dispatcher, limits: CallLimits) {
    this.#dispatcher = dispatcher;
    this.#limits = limits;
    this.#places = new OrganizationSlots({
      perOrganization: limits.maxRunningPerOrganization,
      total: limits.maxRunning,
    });
  }

  /**
   * Sends the call now or when its turn comes. The outcome is the call's `response`. A call too many
   * fails at once, with TOO_MANY_CONCURRENT_REQUESTS where its organization alone has too many.
   */
  send(options: Dispatcher.DispatchOptions, call: Call, organizationId: string): void {
    // While a place is free, every organization that waits has its share already.
    const release = this.#places.take(organizationId);
    if (release !== null) this.#run(options, call, release);
    else this.#wait(organizationId, { options, call });
  }

  #wait(organizationId: string, waiting: Waiting): void {
    const { maxWaiting, maxWaitingPerOrganization } = this.#limits;
    const before = this.#waiting.get(organizationId) ?? [];
    // Deadlines pass in about the order of the calls.
    while (before[0]?.call.settled === true) {
      before.shift();
      this.#waitingCalls -= 1;
    }
    if (this.#waitingCalls >= maxWaiting) waiting.call.fail(new Error(`${maxWaiting} calls are waiting already`));
    else if (before.length >= maxWaitingPerOrganization) waiting.call.fail(tooManyConcurrentRequests());
    else {
      before.push(waiting);
      this.#waitingCalls += 1;
    }
    if (before.length > 0) this.#waiting.set(organizationId, before);
    else this.#waiting.delete(organizationId);
  }

  #run(options: Dispatcher.DispatchOptions, call: Call, release: () => void): void {
    call.onFinished = (): void => {
      release();
      this.#runNext();
    };
    try {
      this.#dispatcher().dispatch(options, call);
    } catch (error) {
      call.fail(error instanceof Error ? error : new Error(String(error)));
      call.finish();
    }
  }

  /** Hands out free places. An organization that gets one goes behind all others. */
  #runNext(): void {
    for (const [organizationId, waiting] of this.#waiting) {
      const release = this.#places.take(organizationId);
      if (release === null) continue;
      this.#waiting.delete(organizationId);
      const next = this.#takeUnsettled(waiting);
      if (waiting.length > 0) this.#waiting.set(organizationId, waiting);
      if (next === undefined) release();
      else this.#run(next.options, next.call, release);
    }
  }

  #takeUnsettled(waiting: Waiting[]): Waiting | undefined {
    for (;;) {
      const next = waiting.shift();
      if (next === undefined) return undefined;
      this.#waitingCalls -= 1;
      if (!next.call.settled) return next;
    }
  }
}
