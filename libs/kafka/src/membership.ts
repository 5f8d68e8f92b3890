/**
 * Beside the session: time for another broker to become the group's coordinator, and for a join
 * there.
 */
const UNACKNOWLEDGED_MARGIN_MS = 20_000;
/**
 * Between two answered fetches that lie further apart the cluster was unavailable: that time counts
 * no further.
 */
const MAX_GAP_MS = 2_000;

/**
 * Whether the group counts this process as a member, by the answers of the brokers alone: kafkajs
 * can take itself for a member that the group forgot long ago, and goes on fetching. Only time in
 * which fetches are answered counts: while the cluster is unavailable, nobody can be a member.
 */
export class Membership {
  readonly #limitMs: number;
  #fetchedMs: number;
  /**
   * How long fetches are answered since the last acknowledgement; since the first commit that was
   * refused.
   */
  #unacknowledgedMs = 0;
  #refusedMs = 0;
  #isRefused = false;

  constructor(sessionTimeoutMs: number, nowMs: number) {
    this.#limitMs = sessionTimeoutMs + UNACKNOWLEDGED_MARGIN_MS;
    this.#fetchedMs = nowMs;
  }

  /** The coordinator acknowledged a heartbeat. */
  acknowledged(): void {
    this.#unacknowledgedMs = 0;
  }

  /** A commit was accepted, or was not. */
  committed(isAccepted: boolean): void {
    this.#isRefused = !isAccepted;
    if (isAccepted) this.#refusedMs = 0;
  }

  /** A join ended: what was refused before it belongs to a generation that is over. */
  joined(): void {
    this.acknowledged();
    this.committed(true);
  }

  /** A broker answered a fetch. */
  fetched(nowMs: number): void {
    const passedMs = Math.min(Math.max(nowMs - this.#fetchedMs, 0), MAX_GAP_MS);
    this.#fetchedMs = nowMs;
    this.#unacknowledgedMs += passedMs;
    if (this.#isRefused) this.#refusedMs += passedMs;
  }

  /**
   * null, or why this process is no member: it fetches, so the cluster is there, and yet no
   * heartbeat was acknowledged, or no commit accepted, for longer than a session and the move of a
   * coordinator take.
   */
  problem(): string | null {
    if (this.#unacknowledgedMs > this.#limitMs)
      return `no heartbeat was acknowledged for ${this.#unacknowledgedMs} ms while messages are fetched`;
    return this.#refusedMs > this.#limitMs
      ? `no commit was accepted for ${this.#refusedMs} ms while messages are fetched`
      : null;
  }
}
