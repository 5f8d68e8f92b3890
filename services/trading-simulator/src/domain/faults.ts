/**
 * Faults that tests and operators inject: what goes wrong, for which requests, and how often.
 */
import type { RejectionCode } from "@kapi/trading-server";

export const FAULT_KINDS = ["delay", "refuse", "drop_answer", "apply_late", "unreachable"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** The operations that a fault may select. */
export const FAULT_OPERATIONS = [
  "create",
  "update",
  "set_status",
  "flatten",
  "set_password",
  "deposit",
  "withdrawal",
  "delete",
  "settle",
  "configure",
  "snapshot",
  "sequence",
  "history",
  "quotes",
] as const;
export type FaultOperation = (typeof FAULT_OPERATIONS)[number];

/**
 * An injected fault. It applies to a change or request that matches `reference`, `accountNumber`
 * and `operation`.
 */
export interface Fault {
  readonly id: string;
  readonly kind: FaultKind;
  /** Null: any reference, or none. */
  readonly reference: string | null;
  /** Null: any account, or none. */
  readonly accountNumber: string | null;
  /** Null: any operation. */
  readonly operation: FaultOperation | null;
  /** Remaining occurrences; null: until cleared. */
  remaining: number | null;
  /** For `delay` and `apply_late`, in milliseconds. */
  readonly delayMs: number;
  /** For `refuse`. */
  readonly code: RejectionCode;
  /** For `unreachable`: disconnect instead of answering 503. */
  readonly disconnect: boolean;
}

/** A change or request that a fault may match. */
export interface FaultTarget {
  readonly reference: string | null;
  readonly accountNumber: string | null;
  readonly operation: FaultOperation;
}

/** Maximum number of faults of a server. */
export const MAX_FAULTS = 1_000;

/** Faults of one server, in memory only: a restart removes them. */
export class Faults {
  readonly #faults = new Map<string, Fault>();

  /** Adds a fault. Returns false, and adds nothing, if there are {@link MAX_FAULTS} already. */
  add(fault: Fault): boolean {
    if (this.#faults.size >= MAX_FAULTS) return false;
    this.#faults.set(fault.id, fault);
    return true;
  }

  list(): Fault[] {
    return [...this.#faults.values()];
  }

  /** Removes one fault, or all; returns how many. */
  clear(id?: string): number {
    const before = this.#faults.size;
    if (id === undefined) this.#faults.clear();
    else this.#faults.delete(id);
    return before - this.#faults.size;
  }

  /**
   * Returns the oldest fault of `kinds` that matches `target`, and counts its occurrence; null: no
   * match.
   */
  take(kinds: readonly FaultKind[], target: FaultTarget): Fault | null {
    for (const fault of this.#faults.values()) {
      if (!kinds.includes(fault.kind) || !matches(fault, target)) continue;
      if (fault.remaining !== null) {
        fault.remaining -= 1;
        if (fault.remaining <= 0) this.#faults.delete(fault.id);
      }
      return fault;
    }
    return null;
  }
}

function matches(fault: Fault, target: FaultTarget): boolean {
  return (
    (fault.reference === null || fault.reference === target.reference) &&
    (fault.accountNumber === null || fault.accountNumber === target.accountNumber) &&
    (fault.operation === null || fault.operation === target.operation)
  );
}
