import type { ContractOperations, SubmittedChange } from "@kapi/bridge";
import type { Started } from "@kapi/runtime";

/** Maximum number of delayed changes. */
const MAX_LATE_CHANGES = 10_000;

/**
 * Changes that an injected fault delays. After its delay, a change goes through the contract. So a
 * change is not applied if its reference was settled meanwhile. A stop discards the delayed
 * changes, as a crash does.
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
   * Applies `change` after `lateMs`. Above {@link MAX_LATE_CHANGES} the change is discarded: no
   * answer has confirmed the change to its caller.
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
