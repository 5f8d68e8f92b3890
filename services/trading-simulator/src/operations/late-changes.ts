import type { ContractOperations, SubmittedChange } from "@kapi/bridge";
import type { Started } from "@kapi/runtime";

/** Most changes that may be held back at a time. */
const MAX_LATE_CHANGES = 10_000;

/**
 * Changes that an injected fault holds back inside the server. When its time comes a change goes
 * the way of every other, so a reference that was settled meanwhile is found closed and nothing
 * applies. A stop forgets them, as a crash would.
 */
export class LateChanges {
  readonly #contract: Pick<ContractOperations, "change">;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #onError: (error: unknown) => void;

  constructor(contract: Pick<ContractOperations, "change">, onError: (error: unknown) => void) {
    this.#contract = contract;
    this.#onError = onError;
  }

  static start(contract: Pick<ContractOperations, "change">, onError: (error: unknown) => void): Started<LateChanges> {
    const late = new LateChanges(contract, onError);
    return { value: late, stop: () => Promise.resolve(late.#clear()) };
  }

  /**
   * Applies `change` after `lateMs`. One too many is forgotten: nothing promised that it would ever
   * apply.
   */
  hold(serverId: string, change: SubmittedChange, lateMs: number): void {
    if (this.#timers.size >= MAX_LATE_CHANGES) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#contract.change(serverId, [change]).catch(this.#onError);
    }, lateMs);
    this.#timers.add(timer);
  }

  #clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
