import type { CommandOutcome } from "./executor.ts";

/**
 * Returns the outcomes of a call for `commands`. If the call was not sent, the outcome of each
 * command is `retry`, which does not count for the breaker. An earlier attempt may have been sent:
 * the commands are still settled before they fail or expire.
 */
export async function retryIfNotSent<Effect>(
  commands: readonly unknown[],
  isNotSent: (error: unknown) => boolean,
  call: () => Promise<readonly CommandOutcome<Effect>[]>,
): Promise<readonly CommandOutcome<Effect>[]> {
  try {
    return await call();
  } catch (error) {
    if (!isNotSent(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    return commands.map(() => ({ kind: "retry", reason }));
  }
}
