import type { ContractOperations, SubmittedChange } from "@kapi/bridge";
import type { Started } from "@kapi/runtime";

/** Maximum number of delayed changes. */
const MAX_LATE_CHANGES = 10_000;

/**
 * Changes that an injected fault delays. A due change goes through the contract, so a change whose
 * reference was settled meanwhile does not apply. A stop discards them, as a crash does.
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
   * Applies `change` after `lateMs`. Above the limit the change is discarded: its caller got no
   * answer, so the caller cannot rely on it.
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
