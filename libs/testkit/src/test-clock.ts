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
