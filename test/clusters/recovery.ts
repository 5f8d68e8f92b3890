import type { Account, Operation } from "./book.ts";

/** How kapi came through one fault, as its clients saw it. Times are in milliseconds from the beginning of the fault. */
export interface FaultRecord {
  readonly name: string;
  readonly lastedMs: number;
  /** Until every account had an operation accepted that was sent after the fault began; null: not within the deadline. */
  readonly acceptedMs: number | null;
  /** Until every account had such an operation carried out. */
  readonly completedMs: number | null;
  /** The longest that an operation of this time took to be accepted, with all its tries. */
  readonly slowestAcceptMs: number;
  /** Operations of this time that needed more than one try. */
  readonly retried: number;
}

/** Watches operations while a fault lasts and until every account is served again. */
export class Recovery {
  readonly records: FaultRecord[] = [];
  readonly #accounts: readonly Account[];
  #name: string | null = null;
  #beganMs = 0;
  #lastedMs = 0;
  #notAccepted = new Set<Account>();
  #notCompleted = new Set<Account>();
  #acceptedMs: number | null = null;
  #completedMs: number | null = null;
  #operations: Operation[] = [];

  constructor(accounts: readonly Account[]) {
    this.#accounts = accounts;
  }

  begin(name: string): void {
    this.#name = name;
    this.#beganMs = Date.now();
    this.#notAccepted = new Set(this.#accounts);
    this.#notCompleted = new Set(this.#accounts);
    [this.#acceptedMs, this.#completedMs, this.#lastedMs] = [null, null, 0];
    this.#operations = [];
  }

  /** The fault has been taken back. */
  healed(): void {
    this.#lastedMs = Date.now() - this.#beganMs;
  }

  sent(operation: Operation): void {
    if (this.#name !== null) this.#operations.push(operation);
  }

  accepted(operation: Operation): void {
    if (!this.#counts(operation) || operation.account === null) return;
    this.#notAccepted.delete(operation.account);
    if (this.#notAccepted.size === 0) this.#acceptedMs ??= Date.now() - this.#beganMs;
  }

  completed(operation: Operation): void {
    if (!this.#counts(operation) || operation.account === null) return;
    this.#notCompleted.delete(operation.account);
    if (this.#notCompleted.size === 0) this.#completedMs ??= Date.now() - this.#beganMs;
  }

  /** Null once every account is served; else how many wait. */
  missing(): string | null {
    const [accepting, completing] = [this.#notAccepted.size, this.#notCompleted.size];
    if (accepting + completing === 0) return null;
    const numbers = [...this.#notCompleted].slice(0, 3).map(({ number }) => number);
    return `${accepting} accounts without an accepted, ${completing} without a completed operation (${numbers.join(", ")})`;
  }

  end(): void {
    if (this.#name === null) return;
    const nowMs = Date.now();
    const times = this.#operations.map(({ acceptedMs, firstSentMs }) => (acceptedMs ?? nowMs) - firstSentMs);
    this.records.push({
      name: this.#name,
      lastedMs: this.#lastedMs,
      acceptedMs: this.#acceptedMs,
      completedMs: this.#completedMs,
      slowestAcceptMs: Math.max(0, ...times),
      retried: this.#operations.filter(({ tries }) => tries.length > 1).length,
    });
    this.#name = null;
  }

  #counts({ firstSentMs }: Operation): boolean {
    return this.#name !== null && firstSentMs >= this.#beganMs;
  }
}
