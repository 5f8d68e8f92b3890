/**
 * Measures reads of a long ledger: an account with 50,000 transactions among a million. Prints the
 * query plans too. `POSTGRES_URL=… node services/finance/bench/read-transactions.ts`
 */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { COMMANDS_MIGRATIONS } from "@kapi/commands";
import { startPool, migrate, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { createTestEnvironment } from "@kapi/testkit";

import {
  BALANCE_AT,
  FILTERED_TRANSACTIONS,
  NEWEST_TRANSACTIONS,
  TRANSACTIONS_PAGE,
} from "../src/outbound/postgres/read-statements.ts";
import { createTransactionReader } from "../src/outbound/postgres/transaction-reader.ts";

const SCHEMA = "finance";
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));
const ROWS_OF_ACCOUNT = 50_000;
const OTHER_ACCOUNTS = 950;
const ROWS_PER_OTHER_ACCOUNT = 1_000;
const ROUNDS = 100;
const START = "2026-01-01T00:00:00Z";

/**
 * Both statements: $1 server, $2 first account number, $3 number of accounts, $4 number of
 * transactions of each account. The transactions of an account are a second apart.
 */
const FILL_ACCOUNTS = statement<never>(
  "bench_fill_accounts",
  `insert into ledger_accounts select $1, ($2::integer + n)::text, $1, 'USD', $4, $4, $4
   from generate_series(0, $3::integer - 1) n`,
);
const FILL_TRANSACTIONS = statement<never>(
  "bench_fill_transactions",
  `insert into transactions
     (id, server_id, account_number, sequence, event_sequence, type, amount_minor, counter_ledger,
      balance_before_minor, balance_after_minor, recorded_at, created_at)
   select gen_random_uuid(), $1, ($2::integer + n)::text, s, s, 'deposit', 1, 'organization/bench/USD/deposit', s - 1, s,
     '${START}'::timestamptz + s * interval '1 second', now()
   from generate_series(0, $3::integer - 1) n, generate_series(1, $4::integer) s`,
);

const environment = await createTestEnvironment({ needs: ["postgres"] });
const logger = createLogger({ service: "bench", level: "error" });
const connectionString = environment.postgresUrl;
await migrate({ connectionString, schema: SCHEMA, directory: MIGRATIONS, directories: [COMMANDS_MIGRATIONS], logger });
const pool = await startPool({
  connectionString,
  schema: SCHEMA,
  applicationName: "bench",
  statementTimeoutMs: 300_000,
  logger,
});
const database = pool.value;
const serverId = randomUUID();
for (const values of [
  [serverId, 20_000_000, OTHER_ACCOUNTS, ROWS_PER_OTHER_ACCOUNT],
  [serverId, 10_000_000, 1, ROWS_OF_ACCOUNT],
]) {
  await database.query(FILL_ACCOUNTS, values);
  await database.query(FILL_TRANSACTIONS, values);
}
await database.query(statement("bench_analyze", "analyze transactions"), []);

const account = { serverId, accountNumber: "10000000" };
const reader = createTransactionReader(database);
const middle = new Date(Date.parse(START) + (ROWS_OF_ACCOUNT / 2) * 1_000).toISOString();
const everything = { from: null, to: null };
const measured: [string, () => Promise<unknown>][] = [
  ["page 1, limit 100", () => reader.page(account, {}, { offset: 0, limit: 100, below: null })],
  ["page 400, limit 100", () => reader.page(account, {}, { offset: 39_900, limit: 100, below: null })],
  ["a filter without a match", () => reader.page(account, { type: "swap" }, { offset: 0, limit: 100, below: null })],
  ["newest 1,001", () => reader.newest(account, everything, 1_001)],
  ["balance at the middle", () => reader.balanceAt(account, middle)],
  ["newest 1,001 up to the middle", () => reader.newest(account, { from: null, to: middle }, 1_001)],
];
for (const [name, work] of measured) {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): string => (times[Math.floor(ROUNDS * share)] ?? 0).toFixed(2);
  console.log(`${name.padEnd(32)} p50 ${at(0.5)} ms   p99 ${at(0.99)} ms`);
}
for (const [{ name, text }, values] of [
  [TRANSACTIONS_PAGE, [serverId, account.accountNumber, 39_900, 100, null]],
  [
    FILTERED_TRANSACTIONS,
    [serverId, account.accountNumber, 0, 100, null, null, null, "swap", null, null, null, null, null],
  ],
  [BALANCE_AT, [serverId, account.accountNumber, middle]],
  [NEWEST_TRANSACTIONS, [serverId, account.accountNumber, null, middle, 1_001]],
] as const) {
  const plan = await database.query<{ "QUERY PLAN": string }>(
    statement(`explain_${name}`, `explain (analyze, buffers, costs off) ${text}`),
    values,
  );
  console.log(`\n${name}\n${plan.map((row) => row["QUERY PLAN"]).join("\n")}`);
}
await pool.stop();
await environment.stop();
