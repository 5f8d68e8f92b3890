/**
 * Added to the session timeout: time for another broker to become the group's coordinator, and for
 * a join there.
 */
const UNACKNOWLEDGED_MARGIN_MS = 20_000;
/**
 * A longer time between two answered fetches counts as this time: in the rest of the time the
 * cluster was unavailable.
 */
const MAX_GAP_MS = 2_000;

/**
 * Whether the group counts this process as a member, decided only by answers of the brokers. After
 * the group has removed a member, kafkajs may still consider itself a member and fetch. Only time
 * in which fetches are answered counts: while the cluster is unavailable, no member can prove its
 * membership.
 */
export class Membership {
  readonly #limitMs: number;
  #fetchedMs: number;
  /** Time with answered fetches since the last acknowledged heartbeat. */
  #unacknowledgedMs = 0;
  /** Time with answered fetches since the first rejected commit after the last accepted commit. */
  #rejectedMs = 0;
  #isRejected = false;

  constructor(sessionTimeoutMs: number, nowMs: number) {
    this.#limitMs = sessionTimeoutMs + UNACKNOWLEDGED_MARGIN_MS;
    this.#fetchedMs = nowMs;
  }

  /** The coordinator acknowledged a heartbeat. */
  acknowledged(): void {
    this.#unacknowledgedMs = 0;
  }

  /** A commit was accepted or rejected. */
  committed(isAccepted: boolean): void {
    this.#isRejected = !isAccepted;
    if (isAccepted) this.#rejectedMs = 0;
  }

  /** A join ended: rejections before it belong to an earlier generation. */
  joined(): void {
    this.acknowledged();
    this.committed(true);
  }

  /** A broker answered a fetch. */
  fetched(nowMs: number): void {
    const passedMs = Math.min(Math.max(nowMs - this.#fetchedMs, 0), MAX_GAP_MS);
    this.#fetchedMs = nowMs;
    this.#unacknowledgedMs += passedMs;
    if (this.#isRejected) this.#rejectedMs += passedMs;
  }

  /**
   * null, or why this process is no member: its fetches are answered, but no heartbeat was
   * acknowledged for the session timeout plus {@link UNACKNOWLEDGED_MARGIN_MS}, or no commit was
   * accepted for that time after a rejected one.
   */
  problem(): string | null {
    if (this.#unacknowledgedMs > this.#limitMs)
      return `no heartbeat was acknowledged for ${this.#unacknowledgedMs} ms while messages are fetched`;
    return this.#rejectedMs > this.#limitMs
      ? `no commit was accepted for ${this.#rejectedMs} ms while messages are fetched`
      : null;
  }
}
