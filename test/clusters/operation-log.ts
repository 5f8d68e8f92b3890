/** The operation log of the oracle: every operation with its key, and every try with its answer. */
import type { Reply } from "./public-api.ts";

/** Answers are due within 5 s; 0.5 s is tolerance for a slow machine. */
export const DUE_MS = 5_500;

export type OperationKind = "deposit" | "withdrawal" | "rename" | "creation" | "rule change" | "enabling";

export interface Account {
  readonly organization: number;
  readonly number: string;
  /** Whether the account trades automatically, so that its balance changes without commands too. */
  readonly trades: boolean;
  /** Whether the account has risk rules, which change all the time. */
  readonly ruled: boolean;
}

/** One mutation. It is sent again until it is accepted. */
export interface Operation {
  readonly kind: OperationKind;
  readonly organization: number;
  /** Null for a creation. */
  readonly account: Account | null;
  readonly key: string;
  readonly path: string;
  readonly method: string;
  readonly body: object;
  /** Change of the account's balance in minor units; less than 0 for a withdrawal. */
  amountMinor: number;
  readonly firstSentMs: number;
  readonly tries: Pick<Reply, "requestId" | "status" | "code" | "tookMs">[];
  commandId: string | null;
  acceptedMs: number | null;
}

/** Keeps the operations, and counts the answers to all requests. */
export class OperationLog {
  readonly operations: Operation[] = [];
  readonly counts = { reads: 0, duplicates: 0, notSent: 0, late: 0, slowestMs: 0 };
  /** Number of answers to all requests, by status and code. */
  readonly answers = new Map<string, number>();
  /** The longest time from acceptance to final state, by kind. `completed()` updates it. */
  readonly slowestFinalMs = new Map<OperationKind, number>();
  /** Request ids of the reads that got a 5xx answer. These reads must cost nothing. */
  readonly failedReads = new Set<string>();
  /** Request id of one successful read. */
  servedRead: string | null = null;

  readonly #acceptedOf = new Map<number, Operation[]>();

  get accepted(): Operation[] {
    return this.operations.filter(({ commandId }) => commandId !== null);
  }

  /** The accepted operations of an organization, in the order of their answers. */
  ofOrganization(organization: number): readonly Operation[] {
    return this.#acceptedOf.get(organization) ?? [];
  }

  /** Records that the answer to `operation` named the command `commandId`. */
  wasAccepted(operation: Operation, commandId: string): void {
    operation.commandId = commandId;
    operation.acceptedMs = Date.now();
    const accepted = this.#acceptedOf.get(operation.organization) ?? [];
    accepted.push(operation);
    this.#acceptedOf.set(operation.organization, accepted);
  }

  /** Records that the command of `operation` is final now. */
  completed({ kind, acceptedMs }: Operation): void {
    const tookMs = Date.now() - (acceptedMs ?? Date.now());
    this.slowestFinalMs.set(kind, Math.max(this.slowestFinalMs.get(kind) ?? 0, tookMs));
  }

  /** Counts an answer, which is late if it took longer than `dueMs`. */
  saw(reply: Reply, dueMs: number): void {
    const kind = `${reply.status ?? "none"} ${reply.code}`.trim();
    this.answers.set(kind, (this.answers.get(kind) ?? 0) + 1);
    this.counts.slowestMs = Math.max(this.counts.slowestMs, reply.tookMs);
    if (reply.tookMs > dueMs) this.counts.late += 1;
  }
}
