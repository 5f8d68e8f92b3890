import type { Clock } from "@kapi/kernel";

const NEW_YEAR_MS = Date.UTC(2026, 0, 1);

/** A clock that stands still until a test moves it. */
export class TestClock implements Clock {
  #nowMs: number;

  constructor(startMs: number = NEW_YEAR_MS) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Moves the clock forward. */
  advance(ms: number): void {
    this.#nowMs += ms;
  }

  /** Sets the clock, forward or back. */
  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }
}

/**
 * Longer than the deadline of every command that a caller sends. Only the command of a breach has a
 * longer deadline: 24 h.
 */
const FAR_OFF_MS = 2 * 3_600_000;
/**
 * Longer than the deadlines of most commands. Kafka accepts messages whose time is up to an hour
 * ahead.
 */
const OFF_MS = 20 * 60_000;

/**
 * The clock of a machine that is two hours ahead. Services under test get this clock. So a test
 * fails if processes compare a time of one machine with a time of another machine.
 */
export const wrongClock: Clock = { nowMs: () => Date.now() + FAR_OFF_MS };

/** The environment of a process whose machine's clock is 20 minutes ahead or behind. */
export function onWrongClock(direction: "ahead" | "behind"): { readonly NODE_OPTIONS: string } {
  const offMs = direction === "ahead" ? OFF_MS : -OFF_MS;
  const source = `const now = Date.now; Date.now = () => now() + ${offMs};`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}` };
}
