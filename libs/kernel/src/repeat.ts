import { type BackOff, backOffMs } from "./back-off.ts";
import { delay } from "./clock.ts";

/** Default of the maximum pause after a failed round, in milliseconds. */
const MAX_FAILURE_PAUSE_MS = 5_000;

/** The work of {@link repeat}, and its pauses. Rounds never overlap. */
export interface RepeatOptions {
  /** Name of the work in the log and in {@link Repetition.failing}. */
  readonly name: string;
  /**
   * One round. Returns true if more work is left: the next round then begins at once. A round must
   * be safe to repeat. `stop` aborts `signal`.
   */
  readonly round: (signal: AbortSignal) => Promise<boolean | void>;
  /** Pause after a round that left no work, in milliseconds. */
  readonly pauseMs: number;
  /** Pause before the first round, in milliseconds. Without it, the first round begins at once. */
  readonly firstPauseMs?: number;
  /**
   * Pauses after failed rounds. By default, the first pause is `pauseMs`, and the maximum is 5 s.
   */
  readonly backOff?: BackOff;
  readonly logger: { readonly warn: (fields: object, text: string) => void };
  /** Between 0 and 1; for the jitter of pauses after failed rounds. Default Math.random. */
  readonly random?: () => number;
}

/** Repeated work that runs until `stop` of its {@link StartedRepetition} is called. */
export interface Repetition {
  /**
   * Why the last round failed, for a readiness check; null if it succeeded, or if none has ended.
   */
  readonly failing: () => string | null;
  /** Ends the pause: the next round begins at once, or right after the running round. */
  readonly wake: () => void;
}

/** Has the form of the results that `Scope.start` of `@kapi/runtime` accepts. */
export interface StartedRepetition {
  readonly value: Repetition;
  readonly stop: () => Promise<void>;
}

/**
 * Repeats a round until `stop` is called; `stop` waits for the running round. A failed round is
 * logged and repeated after a pause ({@link backOffMs}).
 */
export function repeat(options: RepeatOptions): StartedRepetition {
  const { name, pauseMs, firstPauseMs = 0, logger, random = Math.random } = options;
  const backOff = options.backOff ?? { firstMs: pauseMs, maxMs: MAX_FAILURE_PAUSE_MS };
  const stopped = new AbortController();
  let pause = new AbortController();
  let failures = 0;
  let failing: string | null = null;

  const runOnce = async (): Promise<number> => {
    try {
      const hasMore = await options.round(stopped.signal);
      failures = 0;
      failing = null;
      return hasMore === true ? 0 : pauseMs;
    } catch (error) {
      failures += 1;
      failing = `${name}: ${error instanceof Error ? error.message : String(error)}`;
      logger.warn({ err: error, loop: name, failures }, "a round failed; trying again");
      return backOffMs(failures, random, backOff);
    }
  };
  const run = async (): Promise<void> => {
    if (firstPauseMs > 0) await delay(firstPauseMs, pause.signal);
    while (!stopped.signal.aborted) {
      // Created before the round, so that a wake-up during the round ends the pause after it.
      pause = new AbortController();
      const nextMs = await runOnce();
      if (nextMs > 0) await delay(nextMs, pause.signal);
    }
  };
  const running = run();
  return {
    value: { failing: () => failing, wake: () => pause.abort() },
    stop: async () => {
      stopped.abort();
      pause.abort();
      await running;
    },
  };
}
