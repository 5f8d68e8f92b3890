import type { Started } from "@kapi/runtime";

import type { Engine } from "./engine.ts";
import { executeChanges, type SubmittedChange } from "./execute-changes.ts";
import type { TradingServer } from "./server.ts";

/** Most changes that may be held back at a time. */
const MAX_LATE_CHANGES = 10_000;

/**
 * Changes that an injected fault holds back inside the server. When its time comes a change goes the way of every other,
 * so a reference that was settled meanwhile is found closed and nothing applies. A stop forgets them, as a crash would.
 */
export class LateChanges {
  readonly #engine: Engine;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #onError: (error: unknown) => void;

  constructor(engine: Engine, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#onError = onError;
  }

  static start(engine: Engine, onError: (error: unknown) => void): Started<LateChanges> {
    const late = new LateChanges(engine, onError);
    return { value: late, stop: () => Promise.resolve(late.#clear()) };
  }

  /** Applies `change` after `lateMs`. One too many is forgotten: nothing promised that it would ever apply. */
  hold(server: TradingServer, change: SubmittedChange, lateMs: number): void {
    if (this.#timers.size >= MAX_LATE_CHANGES) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      executeChanges(this.#engine, server, [change]).catch(this.#onError);
    }, lateMs);
    this.#timers.add(timer);
  }

  #clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
