import { delay } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

/** Longest pause after a round that failed. */
const MAX_PAUSE_MS = 5_000;

export interface LoopOptions {
  readonly name: string;
  /** One round; true: there is more, go on at once. */
  readonly round: () => Promise<boolean>;
  /** Pause after a round that left nothing to do, and the first one after a failure (doubled with each more). */
  readonly pauseMs: number;
  readonly logger: Logger;
}

/** Repeats a round until it is stopped. A round that fails is logged and made again; every round must be safe to repeat. */
export function startLoop(options: LoopOptions): Started<{ failing: () => string | null }> {
  const stopped = new AbortController();
  let failures = 0;
  let lastError = "";
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      let more = false;
      try {
        more = await options.round();
        failures = 0;
      } catch (error) {
        failures += 1;
        lastError = error instanceof Error ? error.message : String(error);
        options.logger.warn({ err: error, loop: options.name, failures }, "a round failed and is made again");
      }
      const pauseMs = failures === 0 ? options.pauseMs : Math.min(options.pauseMs * 2 ** failures, MAX_PAUSE_MS);
      if (!more) await delay(pauseMs, stopped.signal);
    }
  };
  const running = run();
  return {
    value: { failing: () => (failures > 0 ? `${options.name}: ${lastError}` : null) },
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}
