import { OrganizationSlots, OrganizationTurns } from "@kapi/kernel";
import type { Dispatcher } from "undici";

import { tooManyConcurrentRequests } from "./api-error.ts";
import type { Call } from "./call.ts";

/**
 * Limits of all calls to one service from one process. Above a limit of running calls a call waits;
 * above a limit of waiting calls it fails.
 */
interface CallLimits {
  /** Maximum number of concurrent calls. */
  readonly maxRunning: number;
  /** Maximum number of calls that wait. */
  readonly maxWaiting: number;
  /** Maximum number of concurrent calls of one organization. */
  readonly maxRunningPerOrganization: number;
  /** Maximum number of calls of one organization that wait. */
  readonly maxWaitingPerOrganization: number;
}

interface Waiting {
  readonly options: Dispatcher.DispatchOptions;
  readonly call: Call;
}

/**
 * Limits the number of concurrent calls. Further calls wait, and organizations take turns. A call
 * whose deadline passes while it waits is never sent. undici's own queue would send such a call,
 * and close a connection to cancel it.
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
   * Sends the call now, or when its turn comes. The result is in `call.response`. If the queue is
   * full, the call fails at once. If only the share of the call's organization is full, the call
   * fails with TOO_MANY_CONCURRENT_REQUESTS.
   */
  send(options: Dispatcher.DispatchOptions, call: Call, organizationId: string): void {
    // This call overtakes no waiting call. While a slot is free, a call waits only if its
    // organization holds its maximum of slots, and `take` gives that organization no further slot.
    const release = this.#slots.take(organizationId);
    if (release !== null) return this.#run({ options, call }, release);
    const { maxWaiting, maxWaitingPerOrganization } = this.#limits;
    if (this.#turns.size >= maxWaiting) call.fail(new Error(`${maxWaiting} calls are waiting already`));
    else if (this.#turns.sizeOf(organizationId) >= maxWaitingPerOrganization) call.fail(tooManyConcurrentRequests());
    else this.#wait({ options, call }, organizationId);
  }

  #wait(waiting: Waiting, organizationId: string): void {
    this.#turns.add(organizationId, waiting);
    // A call that expires or is aborted no longer counts as waiting.
    waiting.call.response.catch(() => this.#turns.remove(organizationId, waiting));
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
