import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const TESTS = ["libs", "services", "deploy"];
/** Patterns that no project includes. */
const EXCLUDED = ["**/node_modules/**", "test/tidy/fixtures/**"];

/**
 * The files that take a minute or more. They begin first: a long file that begins last runs alone
 * at the end, while a processor is idle. Files that mostly wait, for example for the session of a
 * killed process, alternate with files that keep the processors busy.
 */
const LONGEST = [
  "services/metrics/test/restart.integration.test.ts",
  "services/account/test/deletion.integration.test.ts",
  "test/contract/operations.test.ts",
  "services/metrics/test/sequencers.integration.test.ts",
  "test/faults/deposit-killed.test.ts",
  "services/finance/test/digests.integration.test.ts",
  "services/gateway/test/faults.integration.test.ts",
];

/** Tests that wait or compute for long: `npm run verify -- long`. */
const LONG = [
  "services/command-status/test/large-results.integration.test.ts",
  "services/gateway/test/large-results.integration.test.ts",
  "services/metrics/test/example-client.integration.test.ts",
  "services/trading-simulator/test/restart.integration.test.ts",
  "test/browser/tasks.test.ts",
  "test/browser/account.test.ts",
  "test/browser/accounts.test.ts",
  "test/browser/actions.test.ts",
  "test/browser/console.test.ts",
  "test/browser/sign-in.test.ts",
  "test/browser/frame.test.ts",
  "test/browser/webhooks.test.ts",
  "test/docs/guides.test.ts",
  "test/browser/documentation.test.ts",
  "test/e2e/command-line.test.ts",
  "test/e2e/external-servers.test.ts",
  "test/e2e/listen.test.ts",
  "test/e2e/read-your-command.test.ts",
  "test/live/live-metrics.test.ts",
  "test/properties/command-states.test.ts",
  "test/properties/equal-keys.test.ts",
  "test/properties/pages.test.ts",
  "libs/redis/test/half-open.integration.test.ts",
  "services/account/test/deletion-long.integration.test.ts",
  "services/metrics/test/log-retention.integration.test.ts",
  "services/metrics/test/recreated-topics.integration.test.ts",
  "test/clusters/kafka.test.ts",
  "test/faults/partition-growth.test.ts",
  "test/e2e/account-state-long.test.ts",
  "test/properties/cursors.test.ts",
];

const ON_SERVERS = {
  globalSetup: ["libs/testkit/src/global-setup.ts"],
  setupFiles: ["deploy/local/test/failure-report.ts"],
  testTimeout: 60_000,
  hookTimeout: 120_000,
};

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => LONGEST.findIndex((file) => moduleId.endsWith(file));
    const sorted = await super.sort(files);
    const long = sorted.filter((file) => place(file) >= 0).toSorted((one, other) => place(one) - place(other));
    return [...long, ...sorted.filter((file) => place(file) < 0)];
  }
}

/**
 * `unit` needs no servers. `integration` runs on real servers: its global set-up starts the servers
 * once per run, or uses KAFKA_BROKERS, POSTGRES_URL and REDIS_URL. `long` runs the tests in
 * {@link LONG} on the same servers, and is not part of `npm test`. `tidy` checks the repository
 * itself.
 */
export default defineConfig({
  test: {
    // Three files at once on two processors: the tests wait for a third of their time, for example
    // for the session of a killed process to end. More files would compete for the processors.
    maxWorkers: 3,
    passWithNoTests: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: TESTS.map((folder) => `${folder}/**/*.test.ts`),
          exclude: [...EXCLUDED, "**/*.integration.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "integration",
          include: [
            ...TESTS.map((folder) => `${folder}/**/*.integration.test.ts`),
            "test/{browser,clusters,contract,docs,e2e,faults,live,properties}/**/*.test.ts",
          ],
          // `npm run scenario -- nodes` runs this file.
          exclude: [...EXCLUDED, "test/clusters/nodes.test.ts", ...LONG],
          ...ON_SERVERS,
        },
      },
      { extends: true, test: { name: "long", include: LONG, exclude: EXCLUDED, ...ON_SERVERS } },
      {
        extends: true,
        test: { name: "tidy", include: ["test/tidy/**/*.test.ts"], exclude: EXCLUDED, testTimeout: 60_000 },
      },
    ],
  },
});
