/**
 * Faults that tests and operators inject: how a trading server misbehaves, for whom, and how often.
 */
import type { RefusalCode } from "@kapi/trading-server";

export const FAULT_KINDS = ["delay", "refuse", "drop_answer", "apply_late", "unreachable"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What a request or a change is, for the faults to choose by. */
export const FAULT_OPERATIONS = [
  "create",
  "update",
  "set_status",
  "set_password",
  "deposit",
  "withdrawal",
  "delete",
  "settle",
  "configure",
  "snapshot",
  "sequence",
  "history",
] as const;
export type FaultOperation = (typeof FAULT_OPERATIONS)[number];

export interface Fault {
  readonly id: string;
  readonly kind: FaultKind;
  /** Null: any. */
  readonly reference: string | null;
  readonly accountNumber: string | null;
  readonly operation: FaultOperation | null;
  /** How often it still happens; null: until it is cleared. */
  remaining: number | null;
  /** Of `delay` and `apply_late`. */
  readonly delayMs: number;
  /** Of `refuse`. */
  readonly code: RefusalCode;
  /** Of `unreachable`: cut the connection instead of answering 503. */
  readonly disconnect: boolean;
}

/** One change or request that a fault may meet. */
export interface FaultTarget {
  readonly reference: string | null;
  readonly accountNumber: string | null;
  readonly operation: FaultOperation;
}

/** Most faults of one server at a time. */
export const MAX_FAULTS = 1_000;

/** The faults of one server. They are kept in memory only: a restarted server has none. */
export class Faults {
  readonly #faults = new Map<string, Fault>();

  /** False where there are too many already. */
  add(fault: Fault): boolean {
    if (this.#faults.size >= MAX_FAULTS) return false;
    this.#faults.set(fault.id, fault);
    return true;
  }

  list(): Fault[] {
    return [...this.#faults.values()];
  }

  /** Takes one fault away, or all; tells how many there were. */
  clear(id?: string): number {
    const before = this.#faults.size;
    if (id === undefined) this.#faults.clear();
    else this.#faults.delete(id);
    return before - this.#faults.size;
  }

  /** The oldest fault of one of `kinds` that meets `target`, counted; null where none does. */
  take(kinds: readonly FaultKind[], target: FaultTarget): Fault | null {
    for (const fault of this.#faults.values()) {
      if (!kinds.includes(fault.kind) || !meets(fault, target)) continue;
      if (fault.remaining !== null) {
        fault.remaining -= 1;
        if (fault.remaining <= 0) this.#faults.delete(fault.id);
      }
      return fault;
    }
    return null;
  }
}

function meets(fault: Fault, target: FaultTarget): boolean {
  return (
    (fault.reference === null || fault.reference === target.reference) &&
    (fault.accountNumber === null || fault.accountNumber === target.accountNumber) &&
    (fault.operation === null || fault.operation === target.operation)
  );
}
