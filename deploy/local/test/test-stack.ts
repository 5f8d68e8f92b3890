import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { addressesOf, type Clusters } from "@kapi/servers";
import { createTestEnvironment, type TestEnvironment } from "@kapi/testkit";

import {
  type DemoOptions,
  type DemoWithAccounts,
  createDemo,
  type Stack,
  type StackOptions,
  startStack,
} from "../src/index.ts";

/** Maximum number of starts of a supervised service until it is ready. */
const START_TRIES = 4;
const WARNING_OR_WORSE = /"level":"(?:warn|error|fatal)"/;
/** Folders of the stacks of this test file that have not been stopped. */
const runningStacks = new Set<string>();

export interface TestStackOptions {
  /** By default all services. */
  readonly services?: readonly string[];
  /**
   * Run all services in one process, which starts sooner. For tests that neither kill nor pause the
   * process of a service.
   */
  readonly together?: boolean;
  /** Services that run twice; the second process of `gateway` is `gateway-2`. */
  readonly twice?: readonly string[];
  /** Extra variables, by service; "all" is for every service. */
  readonly env?: NonNullable<StackOptions["env"]>;
  /** Requested ports, by the names of `Ports`; by default any free ports. */
  readonly ports?: NonNullable<StackOptions["ports"]>;
  /** An existing environment, for a second stack on the same data; `stop` does not stop it. */
  readonly environment?: TestEnvironment;
  /** Running clusters (`startTestClusters`), used instead of the test run's shared servers. */
  readonly clusters?: Clusters;
  /** Restart a service when it dies, even before it is ready, as in production. */
  readonly supervised?: boolean;
}

/** A stack in a test environment: a new one, or {@link TestStackOptions.environment}. */
export interface TestStack extends Stack {
  readonly environment: TestEnvironment;
  /** Creates an organization with credits, a server and a key; by default without accounts. */
  createDemo(options?: DemoOptions): Promise<DemoWithAccounts>;
}

/**
 * Starts services for one test file. `stop` also stops the environment and deletes its data, unless
 * the environment was given.
 */
export async function startTestStack(options: TestStackOptions = {}): Promise<TestStack> {
  const environment = options.environment ?? (await createTestEnvironment(clustersOf(options)));
  const release = async (): Promise<void> => {
    if (options.environment === undefined) await environment.stop();
  };
  const { kafkaBrokers, postgresUrl, redisUrl, topicPrefix } = environment;
  const stateDir = `${environment.stateDir}-stack`;
  const stack = await startStack({
    stateDir,
    servers: {
      ...(options.clusters === undefined ? {} : addressesOf(options.clusters)),
      kafkaBrokers,
      postgresUrl,
      redisUrl,
    },
    ...(options.supervised === undefined ? {} : { supervised: options.supervised, startTries: START_TRIES }),
    topicPrefix,
    ...(options.services === undefined ? {} : { services: options.services }),
    ...(options.together === undefined ? {} : { together: options.together }),
    ...(options.twice === undefined ? {} : { twice: options.twice }),
    ...(options.ports === undefined ? {} : { ports: options.ports }),
    env: { ...options.env, all: { LOG_LEVEL: "info", ...options.env?.["all"] } },
  }).catch(async (error: unknown) => {
    await release();
    throw error;
  });
  runningStacks.add(stateDir);
  return {
    ...stack,
    environment,
    createDemo: (demo = {}) => createDemo(stack, { autoTraders: 0, ...demo }),
    stop: async () => {
      runningStacks.delete(stateDir);
      await stack.stop();
      await release();
    },
  };
}

function clustersOf({ clusters }: TestStackOptions): { clusters?: Clusters } {
  return clusters === undefined ? {} : { clusters };
}

/**
 * The last `count` warnings and errors in each log of this test file's running stacks, as
 * `<service>: <line>`.
 */
export function loggedWarnings(count: number): string[] {
  return [...runningStacks].flatMap((stateDir) => {
    const folder = path.join(stateDir, "logs");
    return readdirSync(folder).flatMap((file) =>
      readFileSync(path.join(folder, file), "utf8")
        .split("\n")
        .filter((line) => WARNING_OR_WORSE.test(line))
        .slice(-count)
        .map((line) => `${path.basename(file, ".log")}: ${line}`),
    );
  });
}
