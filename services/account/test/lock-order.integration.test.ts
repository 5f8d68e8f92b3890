/** Account rows are locked in one order, so that transactions cannot deadlock. */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { type FinalOutcome, column, COMMANDS_MIGRATIONS, type WorkTransaction } from "@kapi/commands";
import { CommandMessage } from "@kapi/contracts";
import { assert, systemClock } from "@kapi/kernel";
import { startPool, type Database, migrate, statement, type Transaction } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { commandMessage, createTestEnvironment, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { createAccountCommands } from "../src/inbound/kafka/account-commands.ts";
import type { ChangeCommandsOptions, ChangeEffect } from "../src/inbound/kafka/change-commands.ts";
import type { CreationCommandsOptions } from "../src/inbound/kafka/creation-commands.ts";
import { queuedOperations } from "../src/operations/queued-operations.ts";
import { createAccountRepository } from "../src/outbound/postgres/account-repository.ts";
import { createCreationRepository } from "../src/outbound/postgres/creation-repository.ts";
import { createDeletionRepository } from "../src/outbound/postgres/deletion-repository.ts";
import { LOCK_ACCOUNTS } from "../src/outbound/postgres/history-statements.ts";

const directory = fileURLToPath(new URL("../migrations", import.meta.url));
const logger = createLogger({ service: "test", level: "silent" });
const NOW = "2026-03-02T10:04:00.000Z";
const INSERT_SERVER = statement<never>(
  "test_insert_server",
  `insert into servers (server_id, organization_id, directory_version, status, server_name, company_name, currency,
     environment, supported_leverage)
   values ($1, $2, 1, 'active', 'Test', 'Test', 'USD', 'demo', '{100}')`,
);
const INSERT_ACCOUNT = statement<never>(
  "test_insert_account",
  `insert into accounts (id, organization_id, server_id, account_number, account_name, status, currency, leverage,
     initial_balance_minor, created_at, updated_at)
   values ($1, $2, $3, $4, 'Test', $5, 'USD', 100, 0, now(), now())`,
);
const WAITING = statement<{ waiting: number }>(
  "test_waiting",
  "select count(*)::integer as waiting from pg_stat_activity where application_name = 'locks' and wait_event_type = 'Lock'",
);

const scope = new Scope();
let database: Database;
let watch: Database;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  const connectionString = environment.postgresUrl;
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  await migrate({ connectionString, schema: "account", directory, directories: [COMMANDS_MIGRATIONS], logger });
  const open = (applicationName: string) => startPool({ connectionString, schema: "account", applicationName, logger });
  database = await scope.start("database", () => open("locks"));
  watch = await scope.start("watch", () => open("watch"));
});
afterAll(() => scope.stop());

interface Two {
  readonly serverId: string;
  readonly low: { readonly id: string; readonly accountNumber: string };
  readonly high: { readonly id: string; readonly accountNumber: string };
}

/** Two accounts. The lower number has the higher id, so the orders by number and by id differ. */
async function twoAccounts(status: string): Promise<Two> {
  const [serverId, organizationId] = [randomUUID(), randomUUID()];
  const [first = "", second = ""] = [randomUUID(), randomUUID()].toSorted();
  const low = { id: second, accountNumber: "10000001" };
  const high = { id: first, accountNumber: "10000002" };
  await database.query(INSERT_SERVER, [serverId, organizationId]);
  for (const { id, accountNumber } of [low, high]) {
    await database.query(INSERT_ACCOUNT, [id, organizationId, serverId, accountNumber, status]);
  }
  return { serverId, low, high };
}

/**
 * Locks accounts in the order of booking: first the account with the lower number. Locks the other
 * account as soon as `competitor` waits for a lock.
 */
async function bookBeside({ serverId, low, high }: Two, competitor: () => Promise<unknown>): Promise<void> {
  let competitors: Promise<unknown> = Promise.resolve();
  await database.transaction(async (tx) => {
    await tx.query(LOCK_ACCOUNTS, [column([serverId]), column([low.accountNumber])]);
    competitors = competitor();
    competitors.catch(() => undefined);
    await eventually(async () => expect((await watch.query(WAITING, []))[0]?.waiting).toBe(1));
    await tx.query(LOCK_ACCOUNTS, [column([serverId]), column([high.accountNumber])]);
  });
  await competitors;
}

/** The repositories use only the methods of `WorkTransaction` that every transaction has. */
const asUnit = (tx: Transaction): WorkTransaction => tx as WorkTransaction;

it("starting commands and booking do not deadlock", async () => {
  const two = await twoAccounts("active");
  const commands = [two.high, two.low].map(({ accountNumber }) => ({ commandId: randomUUID(), accountNumber }));
  await bookBeside(two, () => createAccountRepository(database).startCommands(two.serverId, commands));
});

it("finishing commands and booking do not deadlock", async () => {
  const two = await twoAccounts("active");
  const effect = { made: true, at: NOW };
  const ended = [two.high, two.low].map(({ accountNumber }) => {
    return { commandId: randomUUID(), serverId: two.serverId, accountNumber, effect };
  });
  await bookBeside(two, () =>
    database.transaction((tx) => createAccountRepository(database).finishCommands(asUnit(tx), ended)),
  );
});

it("finishing creations and booking do not deadlock", async () => {
  const two = await twoAccounts("pending");
  const ends = [two.high, two.low].map(({ id }) => ({ managedAccountId: id, move: "activate" as const, at: NOW }));
  await bookBeside(two, () => database.transaction((tx) => createCreationRepository(database).close(asUnit(tx), ends)));
});

it("booking and a transaction that first locks all its accounts do not deadlock", async () => {
  const two = await twoAccounts("active");
  const repository = createAccountRepository(database);
  await bookBeside(two, () =>
    database.transaction(async (tx) => {
      repository.lock(asUnit(tx), [two.high.id, two.low.id]);
      for (const { accountNumber } of [two.high, two.low]) {
        await tx.query(LOCK_ACCOUNTS, [column([two.serverId]), column([accountNumber])]);
      }
    }),
  );
});

it("recording a partly executed command and booking do not deadlock", async () => {
  const two = await twoAccounts("active");
  const repository = createAccountRepository(database);
  const numbers = [two.low.accountNumber, two.high.accountNumber];
  const accounts = await repository.read(two.serverId, numbers);
  // The first command has closed only some positions of the account with the lower number.
  const applied = accounts.map((account, index): FinalOutcome<ChangeEffect> => {
    assert(account !== null, "an account is missing");
    const { serverId, accountNumber } = account;
    const message = commandMessage({
      serverId,
      accountNumber,
      operation: "account.disable",
      payload: { flatten: true },
    });
    const effect: ChangeEffect = { kind: "change", account, effect: { made: false, at: NOW, status: "disabled" } };
    const failure = { errorCode: "ACCOUNT_HAS_OPEN_POSITIONS", errorMessage: "A position is open" } as const;
    return {
      message: CommandMessage.parse(message),
      outcome: index === 0 ? { kind: "failed", ...failure, effect } : { kind: "succeeded", result: {}, effect },
    };
  });
  const none = (): Promise<never> => Promise.reject(new Error("unexpected call"));
  const changes: ChangeCommandsOptions = {
    changeTradingAccounts: none,
    settleTradingAccounts: none,
    operations: queuedOperations(() => ""),
    repository,
    deletions: createDeletionRepository({ database, clock: systemClock, deleteHistory: none }),
    recordEvents: () => Promise.resolve([]),
  };
  const creations: CreationCommandsOptions = {
    createTradingAccounts: none,
    opener: { open: none, settle: none },
    repository: createCreationRepository(database),
    recordEvents: () => Promise.resolve([]),
    passwordOf: () => "",
    clock: systemClock,
  };
  const changer = { settle: () => Promise.reject(new Error("unexpected call")) };
  const executor = createAccountCommands({
    creations,
    changes,
    changer,
    isUnreachable: () => false,
    isNotSent: () => false,
  });
  await bookBeside(two, () => database.transaction((tx) => executor.apply(asUnit(tx), applied)));
  const after = await repository.read(two.serverId, numbers);
  expect(after.map((account) => account?.status)).toEqual(["disabled", "disabled"]);
});
