/**
 * Measures the request log: the rate of inserts, the size of a row, and the time of each filter.
 * Usage: `POSTGRES_URL=… node services/console/bench/request-log.ts`, on an empty database. The
 * requests belong to one organization, and are spread over six days. BENCH_REQUESTS: their number,
 * by default 1,000,000.
 */
import { randomInt, randomUUID } from "node:crypto";

import { ListRequestsQuery, type LoggedRequest } from "@kapi/contracts";
import { systemClock, uuidV7 } from "@kapi/kernel";
import { startPool, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";

import { keepRequestDays, storeRequests } from "../src/operations/store-requests.ts";
import { createRequestLogStore } from "../src/outbound/postgres/request-log.ts";
import { migrateDatabase } from "../src/service.ts";

const REQUESTS = Number(process.env["BENCH_REQUESTS"] ?? 1_000_000);
const POSTGRES_URL = process.env["POSTGRES_URL"] ?? "";
const PER_RECORD = 200;
const RECORDS_PER_BATCH = 20;
const SPREAD_MS = 6 * 86_400_000;
const RUNS = 20;
const NO_LIMIT = 1e9;
const organizationId = randomUUID();
const servers = Array.from({ length: 3 }, () => randomUUID());
const keys = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"];
const operations = ["getTradingAccount", "listTradingAccounts", "listAccountDeals", "depositAccountFunds"];
const logger = createLogger({ service: "bench", level: "error" });

/** One request in 1,000 is answered 402, about one in 50 is answered 404, the others succeed. */
function requestAt(atMs: number): LoggedRequest {
  const chance = randomInt(1_000);
  const status = chance === 0 ? 402 : chance < 20 ? 404 : 200;
  const operation = operations[randomInt(100) === 0 ? 3 : randomInt(3)] ?? "";
  return {
    id: uuidV7(atMs),
    requestId: randomUUID(),
    operation,
    method: operation === "depositAccountFunds" ? "POST" : "GET",
    serverId: servers[randomInt(3)] ?? null,
    accountNumber: String(10_000_000 + randomInt(20_000)),
    status,
    errorCode: status === 402 ? "INSUFFICIENT_CREDITS" : status === 404 ? "ACCOUNT_NOT_FOUND" : null,
    durationMs: randomInt(50),
    actor: { type: "key", id: keys[randomInt(500) === 0 ? 2 : randomInt(2)] ?? "" },
    address: "192.0.2.1",
    creditsCharged: 1,
    commandId: null,
  };
}

await migrateDatabase({ config: { POSTGRES_URL }, logger });
const { value: database, stop } = await startPool({
  connectionString: POSTGRES_URL,
  schema: "console",
  applicationName: "bench",
  max: 2,
  logger,
});
const requestLog = createRequestLogStore(database, systemClock);
await keepRequestDays({ requestLog, clock: systemClock, logger });
const firstMs = Date.now() - SPREAD_MS;
let insertMs = 0;
let stored = 0;
while (stored < REQUESTS) {
  const records = Array.from({ length: RECORDS_PER_BATCH }, () => ({
    recordId: randomUUID(),
    organizationId,
    omitted: [],
    keyUses: [],
    requests: Array.from({ length: PER_RECORD }, (_, index) =>
      requestAt(firstMs + Math.floor(((stored + index) / REQUESTS) * SPREAD_MS)),
    ),
  }));
  const startedMs = performance.now();
  await storeRequests({ requestLog, clock: systemClock }, records, NO_LIMIT);
  insertMs += performance.now() - startedMs;
  stored += RECORDS_PER_BATCH * PER_RECORD;
}
console.log(`${Math.round((stored / insertMs) * 1_000)} requests inserted per second`);
const SIZE = statement<{ bytes: number }>(
  "bench_size",
  `select sum(pg_total_relation_size(inhrelid))::bigint as bytes from pg_inherits where inhparent = 'requests'::regclass`,
);
const [size] = await database.query(SIZE, []);
console.log(`${Math.round((size?.bytes ?? 0) / stored)} bytes per request, with indexes`);

const [sample] = (await requestLog.list(organizationId, ListRequestsQuery.parse({}))).requests;
const account = { serverId: sample?.serverId ?? "", accountNumber: sample?.accountNumber ?? "" };
const queries: readonly Readonly<Record<string, string>>[] = [
  {},
  { status: "402" },
  { status: "4xx" },
  { status: "5xx" },
  { status: "2xx" },
  { status: "none" },
  { code: "INSUFFICIENT_CREDITS" },
  { operation: "depositAccountFunds" },
  { operation: "doesNotExist" },
  { actor: keys[2] ?? "" },
  { requestId: sample?.requestId ?? "" },
  { requestId: "unknown" },
  account,
  { serverId: account.serverId },
  { actor: keys[0] ?? "", status: "402" },
  { actor: keys[2] ?? "", operation: "depositAccountFunds" },
  { operation: "getTradingAccount", actor: "unknown" },
  { status: "2xx", operation: "depositAccountFunds", actor: "unknown" },
];
for (const query of queries) {
  const times: number[] = [];
  let found = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const startedMs = performance.now();
    found = (await requestLog.list(organizationId, ListRequestsQuery.parse(query))).requests.length;
    times.push(performance.now() - startedMs);
  }
  times.sort((a, b) => a - b);
  const [p50, last] = [times[RUNS / 2] ?? 0, times.at(-1) ?? 0];
  console.log(`${p50.toFixed(1)} ms (slowest ${last.toFixed(1)}), ${found} found: ${JSON.stringify(query)}`);
}
await stop();
