/** Work of a service besides requests: readers of topics, and repeated work. */
import {
  type Clock,
  FIRST_RETRY_MS,
  MAX_RETRY_MS,
  monotonicClock,
  repeat,
  type RepeatOptions,
  type Repetition,
} from "@kapi/kernel";
import type { MainContext, Started } from "@kapi/runtime";

/**
 * Starts a reader of a topic. If the reader makes no progress, the liveness probe fails.
 * @param name of the reader, in the log and in the probe's answer.
 * @throws an Error with the failure of `start` as its cause.
 */
export async function startReader<Reader extends { readonly check: () => string | null }>(
  { scope, health }: Pick<MainContext<unknown>, "scope" | "health">,
  name: string,
  start: () => Promise<Started<Reader>>,
): Promise<Reader> {
  const reader = await scope.start(name, start);
  health.liveness(name, () => reader.check());
  return reader;
}

/** After a failure of a reader that ran this long, the pauses begin again at 1 s. */
const HEALTHY_AFTER_MS = 60_000;

/**
 * Starts a reader whose failure must not end the process or make it unready. After a failure, which
 * is logged, the reader is started again after a pause of 1-2-4-8-16 s, until the process stops. If
 * the reader makes no progress, the liveness probe fails.
 * @param start gets a function to call when the running reader has failed.
 */
export async function startRestartedReader<Reader extends { readonly check: () => string | null }>(
  { scope, health, logger }: Pick<MainContext<unknown>, "scope" | "health" | "logger">,
  name: string,
  start: (fatal: (error: Error) => void) => Promise<Started<Reader>>,
  clock: Clock = monotonicClock,
): Promise<void> {
  let reader: Reader | null = null;
  const round = async (signal: AbortSignal): Promise<void> => {
    const stopped = Promise.withResolvers<null>();
    const onStop = (): void => stopped.resolve(null);
    signal.addEventListener("abort", onStop, { once: true });
    const failure = Promise.withResolvers<Error>();
    const starting = start((error) => failure.resolve(error));
    let startedAtMs = clock.nowMs();
    let failed: unknown;
    try {
      const started = await Promise.race([starting, stopped.promise]);
      if (started === null) {
        // The reader possibly never starts, so the stop does not wait for it.
        starting.then((late) => late.stop()).catch(() => undefined);
        return;
      }
      reader = started.value;
      startedAtMs = clock.nowMs();
      failed = await Promise.race([failure.promise, stopped.promise]);
      await started.stop();
    } finally {
      reader = null;
      signal.removeEventListener("abort", onStop);
    }
    if (failed === null) return;
    if (clock.nowMs() - startedAtMs < HEALTHY_AFTER_MS) throw failed;
    logger.error({ err: failed, reader: name }, "a reader failed and is started again");
  };
  health.liveness(name, () => reader?.check() ?? null);
  const backOff = { firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS };
  await startRepeated({ scope, logger }, { name, pauseMs: FIRST_RETRY_MS, backOff, round });
}

/** Repeats work, with pauses, until the process stops; a stop waits for the running round. */
export function startRepeated(
  { scope, logger }: Pick<MainContext<unknown>, "scope" | "logger">,
  options: Omit<RepeatOptions, "logger">,
): Promise<Repetition> {
  return scope.start(options.name, () => repeat({ ...options, logger }));
}

/** Calls `work` every `intervalMs` until `stop`, without waiting for what `work` begins. */
export function startTimer(intervalMs: number, work: () => void): Started<null> {
  const timer = setInterval(work, intervalMs);
  return {
    value: null,
    stop: () => {
      clearInterval(timer);
      return Promise.resolve();
    },
  };
}
