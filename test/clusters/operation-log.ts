/** The operation log of the oracle: every operation with its key, every try with its answer. */
import type { Reply } from "./public-api.ts";

/** Answers are due within 5 s (this machine may be slow by a moment). */
export const DUE_MS = 5_500;

export type OperationKind = "deposit" | "withdrawal" | "rename" | "creation";

export interface Account {
  readonly organization: number;
  readonly number: string;
  /** It trades by itself at the trading server, so its balance also moves without a command. */
  readonly trades: boolean;
}

/** One mutation, sent until it is answered. */
export interface Operation {
  readonly kind: OperationKind;
  readonly organization: number;
  /** Null for a creation. */
  readonly account: Account | null;
  readonly key: string;
  readonly path: string;
  readonly method: string;
  readonly body: object;
  /** What it adds to the account's balance; less than 0 for a withdrawal. */
  amountMinor: number;
  readonly firstSentMs: number;
  readonly tries: Pick<Reply, "requestId" | "status" | "code" | "tookMs">[];
  commandId: string | null;
  acceptedMs: number | null;
}

export class OperationLog {
  readonly operations: Operation[] = [];
  readonly counts = { reads: 0, duplicates: 0, notSent: 0, late: 0, slowestMs: 0 };
  /** Answers by status and code, of all requests. */
  readonly answers = new Map<string, number>();
  /**
   * Of the operations that are followed, by kind: the longest from acceptance to the final state,
   * in milliseconds.
   */
  readonly slowestFinalMs = new Map<OperationKind, number>();
  /** Reads that were answered 5xx, which must cost nothing: their request ids. */
  readonly failedReads = new Set<string>();
  /** The request id of one read that was served. */
  servedRead: string | null = null;

  readonly #acceptedOf = new Map<number, Operation[]>();

  get accepted(): Operation[] {
    return this.operations.filter(({ commandId }) => commandId !== null);
  }

  /** The accepted operations of an organization, in the order of their answers. */
  ofOrganization(organization: number): readonly Operation[] {
    return this.#acceptedOf.get(organization) ?? [];
  }

  /** `operation` was answered with the command `commandId`. */
  wasAccepted(operation: Operation, commandId: string): void {
    operation.commandId = commandId;
    operation.acceptedMs = Date.now();
    const accepted = this.#acceptedOf.get(operation.organization) ?? [];
    accepted.push(operation);
    this.#acceptedOf.set(operation.organization, accepted);
  }

  /** `operation` is final now. */
  completed({ kind, acceptedMs }: Operation): void {
    const tookMs = Date.now() - (acceptedMs ?? Date.now());
    this.slowestFinalMs.set(kind, Math.max(this.slowestFinalMs.get(kind) ?? 0, tookMs));
  }

  saw(reply: Reply, dueMs: number): void {
    const kind = `${reply.status ?? "none"} ${reply.code}`.trim();
    this.answers.set(kind, (this.answers.get(kind) ?? 0) + 1);
    this.counts.slowestMs = Math.max(this.counts.slowestMs, reply.tookMs);
    if (reply.tookMs > dueMs) this.counts.late += 1;
  }
}
