import type { Demo, Stack } from "@kapi/local";
import { startTestStack } from "@kapi/testkit";

/** A whole kapi of a test's own on the servers of the test run: every service as a process, and a demo organization. */
export interface RunningSystem {
  readonly stack: Stack;
  readonly demo: Demo;
  /** Stops the services and removes what they stored. */
  stop(): Promise<void>;
}

/** Starts it. `env` holds extra environment variables by service. */
export async function startSystem(
  env: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
): Promise<RunningSystem> {
  const stack = await startTestStack({
    // The session timeout is the shortest that a broker allows: how long a killed service's work rests until it is taken
    // up again. Quotes named for one test are not another's market.
    env: { all: { KAFKA_SESSION_TIMEOUT_MS: "6000", QUOTES_FILE: "" }, ...env },
  });
  try {
    return { stack, demo: await stack.makeDemo(), stop: () => stack.stop() };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}
