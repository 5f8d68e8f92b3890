import { type Account, DUE_MS, type Operation } from "./operation-log.ts";

const MAX_EXAMPLES = 3;

/**
 * The recovery from one fault, as clients saw it. Times count from the start of the fault, except
 * `slowestAcceptMs`.
 */
export interface FaultRecord {
  readonly name: string;
  readonly lastedMs: number;
  /**
   * Time until every account had an accepted operation that was sent after the fault began; null if
   * the deadline passed before.
   */
  readonly acceptedMs: number | null;
  /** Time until every account had such an operation whose command is final. */
  readonly completedMs: number | null;
  /** Time until every account had a live sample that was measured after the fault began. */
  readonly liveMs: number | null;
  /** Time until every organization received an event that happened after the fault began. */
  readonly deliveredMs: number | null;
  /**
   * Longest time from the first try of an operation to its acceptance. If it was not accepted, to
   * the end of the record.
   */
  readonly slowestAcceptMs: number;
  /** Number of operations that needed more than one try. */
  readonly retried: number;
  /** Number of answers that took longer than allowed. */
  readonly late: number;
}

/**
 * Watches answers, live samples and deliveries from the start of a fault until every account and
 * organization is served again.
 */
export class Recovery {
  readonly records: FaultRecord[] = [];
  #accounts: readonly Account[] = [];
  readonly #accepted = new Awaited<Account>();
  readonly #completed = new Awaited<Account>();
  readonly #live = new Awaited<Account>();
  readonly #delivered = new Awaited<number>();
  #name: string | null = null;
  #beganMs = 0;
  #lastedMs = 0;
  #operations: Operation[] = [];

  /** Sets the accounts that kapi must serve again after each fault. */
  expect(accounts: readonly Account[]): void {
    this.#accounts = accounts;
  }

  begin(name: string): void {
    this.#name = name;
    this.#beganMs = Date.now();
    this.#lastedMs = 0;
    this.#operations = [];
    for (const kind of [this.#accepted, this.#completed, this.#live]) kind.begin(this.#accounts);
    this.#delivered.begin(this.#accounts.map(({ organization }) => organization));
  }

  /** The fault was reverted. */
  healed(): void {
    this.#lastedMs = Date.now() - this.#beganMs;
  }

  sent(operation: Operation): void {
    if (this.#name !== null) this.#operations.push(operation);
  }

  accepted(operation: Operation): void {
    if (operation.account !== null && this.#counts(operation.firstSentMs)) this.#accepted.saw(operation.account);
  }

  completed(operation: Operation): void {
    if (operation.account !== null && this.#counts(operation.firstSentMs)) this.#completed.saw(operation.account);
  }

  /** A client received a live sample of `account`, which was measured at `measuredMs`. */
  sampled(account: Account, measuredMs: number): void {
    if (this.#counts(measuredMs)) this.#live.saw(account);
  }

  /** `organization` received an event, which happened at `happenedMs`. */
  delivered(organization: number, happenedMs: number): void {
    if (this.#counts(happenedMs)) this.#delivered.saw(organization);
  }

  /** The accounts and organizations that are not served yet; null if all are served. */
  missing(): string | null {
    const waiting = [
      [this.#accepted, "an accepted operation"],
      [this.#completed, "a completed operation"],
      [this.#live, "a live sample"],
    ] as const;
    const texts = waiting.flatMap(([{ left }, what]) => {
      if (left.size === 0) return [];
      const examples = [...left].slice(0, MAX_EXAMPLES).map((one) => `${one.organization}/${one.number}`);
      return [`${left.size} accounts without ${what} (${examples.join(", ")})`];
    });
    const { left } = this.#delivered;
    if (left.size > 0) texts.push(`organizations ${[...left].join(", ")} without a delivery`);
    return texts.length === 0 ? null : texts.join("; ");
  }

  end(): void {
    if (this.#name === null) return;
    const nowMs = Date.now();
    const times = this.#operations.map(({ acceptedMs, firstSentMs }) => (acceptedMs ?? nowMs) - firstSentMs);
    const after = ({ servedAtMs }: { readonly servedAtMs: number | null }): number | null =>
      servedAtMs === null ? null : servedAtMs - this.#beganMs;
    this.records.push({
      name: this.#name,
      lastedMs: this.#lastedMs,
      acceptedMs: after(this.#accepted),
      completedMs: after(this.#completed),
      liveMs: after(this.#live),
      deliveredMs: after(this.#delivered),
      slowestAcceptMs: Math.max(0, ...times),
      retried: this.#operations.filter(({ tries }) => tries.length > 1).length,
      late: this.#operations.flatMap(({ tries }) => tries).filter(({ tookMs }) => tookMs > DUE_MS).length,
    });
    this.#name = null;
  }

  #counts(atMs: number): boolean {
    return this.#name !== null && atMs >= this.#beganMs;
  }
}

/** The accounts or organizations that are not served yet. */
class Awaited<T> {
  readonly left = new Set<T>();
  /** Time at which the last one was served. */
  servedAtMs: number | null = null;

  begin(all: Iterable<T>): void {
    this.left.clear();
    for (const one of all) this.left.add(one);
    this.servedAtMs = null;
  }

  saw(one: T): void {
    this.left.delete(one);
    if (this.left.size === 0) this.servedAtMs ??= Date.now();
  }
}
