/** What a service does beside requests: it reads topics, and repeats work. */
import { repeat, type RepeatOptions, type Repetition } from "@kapi/kernel";
import type { MainContext, Started } from "@kapi/runtime";

/**
 * Starts a reader of a topic. The liveness probe ends a process whose reader stands still.
 * @param name of the reader, in the log and in the probe's answer.
 * @throws what `start` throws.
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

/** Repeats work, with pauses, until the process stops; a stop waits for the running round. */
export function startRepeated(
  { scope, logger }: Pick<MainContext<unknown>, "scope" | "logger">,
  options: Omit<RepeatOptions, "logger">,
): Promise<Repetition> {
  return scope.start(options.name, () => repeat({ ...options, logger }));
}
