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

  advance(ms: number): void {
    this.#nowMs += ms;
  }

  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }
}

/** Longer than every deadline of a command. */
const FAR_OFF_MS = 2 * 3_600_000;
/** Longer than most deadlines. Kafka accepts messages whose time is up to an hour ahead. */
const OFF_MS = 20 * 60_000;

/** The clock of a machine that is two hours ahead. Shared times must not come from such a clock. */
export const wrongClock: Clock = { nowMs: () => Date.now() + FAR_OFF_MS };

/** The environment of a process whose machine's clock is 20 minutes ahead or behind. */
export function onWrongClock(direction: "ahead" | "behind"): { readonly NODE_OPTIONS: string } {
  const offMs = direction === "ahead" ? OFF_MS : -OFF_MS;
  const source = `const now = Date.now; Date.now = () => now() + ${offMs};`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}` };
}
