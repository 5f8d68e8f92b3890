/**
 * `npm run rebuild-history -- --server <id> [--account <number>]`: rebuilds orders, positions and
 * deals from the trading server's history. The service may run meanwhile. The command uses the
 * service's environment variables. If one of the required variables is missing, the npm script uses
 * the variables of the kapi that `npm start` runs. A repeated call continues an interrupted run.
 * Exit code 1: the rebuild of an account failed, or another error; 2: wrong usage, or an unknown
 * server or account.
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { startDirectory } from "@kapi/admission";
import { COMMANDS_MIGRATIONS } from "@kapi/commands";
import { AccountNumber, Guid } from "@kapi/contracts";
import { DIGESTS_MIGRATIONS } from "@kapi/digests";
import { createKafka, kafkaOptions } from "@kapi/kafka";
import { startPool, migrate, postgresOptions } from "@kapi/postgres";
import { ConfigError, connectionFields, createLogger, loadConfig, Scope } from "@kapi/runtime";
import { createAddresses, startTradingServerClient } from "@kapi/trading-server";
import { createEventHistory } from "@kapi/trading-server/event-feed";
import { z } from "zod";

import { ConfigSchema } from "./config.ts";
import {
  rebuildAccount,
  type RebuildOptions,
  type RebuiltAccount,
  rebuildServer,
} from "./operations/rebuild-history.ts";
import { createAccountReader } from "./outbound/postgres/account-reader.ts";
import { createStagedHistory } from "./outbound/postgres/staged-history.ts";

const SCHEMA = "account";
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));
/** One statement can write all deals of an account. */
const STATEMENT_TIMEOUT_MS = 600_000;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const USAGE = "usage: npm run rebuild-history -- --server <server id> [--account <account number>]\n";

const Arguments = z.strictObject({ server: Guid, account: AccountNumber.optional() });
const { TRADING_SERVER_TOKEN, TRADING_SERVER_SEALING_KEYS, TRADING_SERVER_ALLOW_INSECURE, TRADING_SERVER_TIMEOUT_MS } =
  ConfigSchema.shape;
const RebuildConfig = z.object({
  ...connectionFields.kafka,
  ...connectionFields.postgres,
  ...connectionFields.tradingServers,
  TRADING_SERVER_TOKEN,
  TRADING_SERVER_SEALING_KEYS,
  TRADING_SERVER_ALLOW_INSECURE,
  TRADING_SERVER_TIMEOUT_MS,
});

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

/** Runs the rebuild; returns the exit code. */
async function run({ server: serverId, account }: z.infer<typeof Arguments>): Promise<number> {
  const config = loadConfig(RebuildConfig, process.env);
  const logger = createLogger({ service: "rebuild-history", level: "warn" });
  const scope = new Scope();
  try {
    const server = { ...postgresOptions(config), schema: SCHEMA, logger };
    await migrate({ ...server, directory: MIGRATIONS, directories: [COMMANDS_MIGRATIONS, DIGESTS_MIGRATIONS] });
    const database = await scope.start("postgres", () =>
      startPool({ ...server, applicationName: "rebuild-history", statementTimeoutMs: STATEMENT_TIMEOUT_MS }),
    );
    const kafka = createKafka({
      ...kafkaOptions(config),
      clientId: "rebuild-history",
      logger,
    });
    const fatal = (error: Error): never => {
      throw error;
    };
    const directory = await scope.start("directory", () => startDirectory({ kafka, logger, fatal }));
    if (directory.server(serverId) === undefined) {
      process.stderr.write(`there is no server ${serverId} in the directory\n`);
      return EXIT_USAGE;
    }
    const named = account === undefined ? [] : [{ serverId, accountNumber: account }];
    if ((await createAccountReader(database).ids(named)).includes(null)) {
      process.stderr.write(`server ${serverId} has no account ${account}\n`);
      return EXIT_USAGE;
    }
    const client = await scope.start("trading-server client", () =>
      startTradingServerClient({
        addressOf: createAddresses({
          server: (serverId) => directory.server(serverId),
          keys: config.TRADING_SERVER_SEALING_KEYS,
          sharedToken: config.TRADING_SERVER_TOKEN,
          allowInsecure: config.TRADING_SERVER_ALLOW_INSECURE === "true",
        }),
        ca: config.TRADING_SERVER_TLS_CA,
        timeoutMs: config.TRADING_SERVER_TIMEOUT_MS,
      }),
    );
    const tally = { failed: 0, different: 0, events: 0 };
    const options: RebuildOptions = {
      staged: createStagedHistory(database),
      history: createEventHistory(client),
      lastSequence: async ({ accountNumber }) => (await client.eventSequence(serverId, accountNumber)) ?? 0,
      onProgress: (done, total, accounts) => {
        for (const rebuilt of accounts) report(rebuilt, tally);
        const { events, different, failed } = tally;
        print(`${done} of ${total} accounts: ${events} events, ${different} rows differed, ${failed} accounts failed`);
      },
    };
    await (account === undefined
      ? rebuildServer(options, serverId)
      : rebuildAccount(options, { serverId, accountNumber: account }));
    return tally.failed > 0 ? EXIT_FAILED : 0;
  } finally {
    await scope.stop();
  }
}

function report(rebuilt: RebuiltAccount, tally: { failed: number; different: number; events: number }): void {
  const { accountNumber } = rebuilt;
  if (rebuilt.kind === "failed") {
    tally.failed += 1;
    print(`  ${accountNumber} is unchanged: ${String(rebuilt.error)}`);
  }
  if (rebuilt.kind !== "rebuilt") return;
  const { feed, different } = rebuilt;
  tally.events += feed.bookedSequence;
  tally.different += different;
  if (different === 0) return;
  const counts = `${feed.orderCount} orders, ${feed.positionCount} positions, ${feed.dealCount} deals`;
  print(`  ${accountNumber}: ${different} rows differed; ${counts} now`);
}

function argumentsFrom(args: readonly string[]): z.infer<typeof Arguments> | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { server: { type: "string" }, account: { type: "string" } },
    });
    return Arguments.safeParse(values).data ?? null;
  } catch {
    return null;
  }
}

/** The command; returns the exit code. */
async function main(): Promise<number> {
  const given = argumentsFrom(process.argv.slice(2));
  if (given === null) {
    process.stderr.write(USAGE);
    return EXIT_USAGE;
  }
  try {
    return await run(given);
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`);
    return EXIT_FAILED;
  }
}

// Pending timers would keep the process alive for seconds.
process.exit(await main());
