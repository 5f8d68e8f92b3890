import path from "node:path";
import { type Demo, makeDemo, type Stack, startStack } from "@kapi/local";
import { createTestEnvironment } from "@kapi/testkit";

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
  const environment = await createTestEnvironment();
  try {
    const stack = await startStack({
      stateDir: path.join(environment.stateDir, "stack"),
      servers: {
        kafkaBrokers: environment.kafkaBrokers,
        postgresUrl: environment.postgresUrl,
        redisUrl: environment.redisUrl,
      },
      topicPrefix: environment.topicPrefix,
      // The shortest that a broker allows: how long a killed service's work rests until it is taken up again.
      // Quotes named for one test are not another's market.
      env: { all: { KAFKA_SESSION_TIMEOUT_MS: "6000", QUOTES_FILE: "" }, ...env },
    });
    const stop = async (): Promise<void> => {
      await stack.stop();
      await environment.stop();
    };
    try {
      return { stack, demo: await makeDemo(stack, { autoTraders: 0 }), stop };
    } catch (error) {
      await stack.stop();
      throw error;
    }
  } catch (error) {
    await environment.stop();
    throw error;
  }
}
