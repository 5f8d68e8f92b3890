/** Beside the session: time for another broker to become the group's coordinator, and for a join there. */
const UNACKNOWLEDGED_MARGIN_MS = 20_000;

/**
 * Whether the group counts this process as a member, told by what the brokers answered and by nothing else: kafkajs can
 * take itself for a member that the group forgot long ago, and goes on fetching.
 */
export class Membership {
  readonly #limitMs: number;
  #acknowledgedMs: number;
  #fetchedMs: number;
  #refusedSinceMs: number | null = null;

  constructor(sessionTimeoutMs: number, nowMs: number) {
    this.#limitMs = sessionTimeoutMs + UNACKNOWLEDGED_MARGIN_MS;
    this.#acknowledgedMs = nowMs;
    this.#fetchedMs = nowMs;
  }

  /** The coordinator acknowledged a heartbeat, or a join ended. */
  acknowledged(nowMs: number): void {
    this.#acknowledgedMs = nowMs;
  }

  /** A commit was accepted, or refused. */
  committed(isAccepted: boolean, nowMs: number): void {
    if (isAccepted) this.#refusedSinceMs = null;
    else this.#refusedSinceMs ??= nowMs;
  }

  /** A join ended: what was refused before it belongs to a generation that is over. */
  joined(nowMs: number): void {
    this.#refusedSinceMs = null;
    this.acknowledged(nowMs);
  }

  /** A broker answered a fetch. */
  fetched(nowMs: number): void {
    this.#fetchedMs = nowMs;
  }

  /**
   * null, or why this process is no member: it fetches, so the cluster is there, and yet no heartbeat was acknowledged,
   * or no commit accepted, for longer than a session and the move of a coordinator take.
   */
  problem(): string | null {
    const silentMs = this.#fetchedMs - this.#acknowledgedMs;
    if (silentMs > this.#limitMs) return `no heartbeat was acknowledged for ${silentMs} ms while messages are fetched`;
    const refusedMs = this.#refusedSinceMs === null ? 0 : this.#fetchedMs - this.#refusedSinceMs;
    return refusedMs > this.#limitMs ? `commits are refused for ${refusedMs} ms while messages are fetched` : null;
  }
}
