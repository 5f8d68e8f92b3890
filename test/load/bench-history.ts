/**
 * `npm run bench -- history`: the latency of pages of a long history and of a long list of
 * accounts in the account service, compared with a bare round trip. It also measures the memory
 * of gateway and account service during a list of 100,000 accounts. It writes the query plans of
 * history pages to `history-explain.txt`. It starts services, and servers unless the environment
 * names servers.
 */
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Demo, createDemo, type Stack, startStack } from "@kapi/local";
import { printedReport, stopRecorded } from "@kapi/servers";
import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { Pool } from "undici";

import {
  DEALS_PAGE,
  FILTERED_DEALS,
  FILTERED_ORDERS,
  OPEN_POSITIONS_PAGE,
  ORDERS_PAGE,
} from "../../services/account/src/outbound/postgres/history-pages.ts";
import { ACCOUNTS, BUSY_ACCOUNT, DEALS, DEALS_OF_ONE, fillHistory } from "./history-fill.ts";
import { closedLoop, type Figures, line } from "./measure.ts";
import { startProcess } from "./process.ts";
import { peaksDuring, residentBytes } from "./resident-memory.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench-history");
const EXPLAIN_FILE = path.join(import.meta.dirname, "history-explain.txt");
const WARM_UP_MS = 3_000;
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 10_000);
const LIMIT = 100;
const FAR_PAGE = 400;
const AIM_P50_MS = 20;
const AIM_BYTES = 150_000_000;
const LISTS_AT_ONCE = 4;
const MB = 1_000_000;

async function get<T>(pool: Pool, url: string, headers: Record<string, string>): Promise<T> {
  const answer = await pool.request({ method: "GET", path: url, headers });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode} ${text}`);
  return JSON.parse(text) as T;
}

const load = (call: () => Promise<unknown>): Promise<Figures> =>
  closedLoop({ concurrency: 1, warmUpMs: WARM_UP_MS, measureMs: MEASURE_MS, call });

/**
 * Measures pages of the account with 50,000 deals: one request at a time, to the account service.
 */
async function measurePages(stack: Stack, demo: Demo): Promise<void> {
  const bare = await startProcess<{ url: string }>("bare-select.ts", [], { POSTGRES_URL: stack.servers.postgresUrl });
  const barePool = new Pool(bare.hello.url, { connections: 1 });
  console.log(line("(a) baseline: the same HTTP and pool, select 1", await load(() => get(barePool, "/one", {}))));
  await barePool.close();
  await bare.stop();

  const owner = new Pool(stack.url("account"), { connections: 1 });
  const headers = { "x-service-token": stack.secrets.serviceTokens.gateway };
  const account = `/internal/servers/${demo.serverId}/accounts/${BUSY_ACCOUNT}`;
  const results: string[] = [];
  for (const list of ["deals", "orders", "positions"] as const) {
    for (const page of list === "positions" ? [1, FAR_PAGE / 2] : [1, FAR_PAGE]) {
      const url = `${account}/${list}?page=${page}&limit=${LIMIT}`;
      const first = await get<Record<string, unknown[]> & { pagination: { total: number } }>(owner, url, headers);
      const { total } = first.pagination;
      if (first[list]?.length !== LIMIT)
        throw new Error(`${url} returned ${first[list]?.length} records, expected ${LIMIT}`);
      const figures = await load(() => get(owner, url, headers));
      console.log(line(`(b) ${list}, page ${page} of ${total / LIMIT}, limit ${LIMIT}, total ${total}`, figures));
      if (list === "deals") results.push(`page ${page}: p50 ${figures.p50Ms.toFixed(1)} ms   aim < ${AIM_P50_MS} ms`);
      if (list === "deals" && total !== DEALS_OF_ONE)
        throw new Error(`the account has ${total} deals, expected ${DEALS_OF_ONE}`);
    }
  }
  await owner.close();
  console.log(results.join("\n"));
}

/**
 * Measures pages of the list of accounts with live values: the first page, the last page, a page of
 * one status, and a page of a search.
 */
async function measureAccountPages(stack: Stack, demo: Demo): Promise<void> {
  const owner = new Pool(stack.url("account"), { connections: 1 });
  const headers = { "x-service-token": stack.secrets.serviceTokens.gateway };
  const lists = `/internal/servers/${demo.serverId}/accounts?limit=${LIMIT}`;
  for (const [title, part] of [
    ["page 1", "page=1"],
    [`page ${ACCOUNTS / LIMIT}`, `page=${ACCOUNTS / LIMIT}`],
    ["page 1 of a status", "page=1&status=active"],
    ["page 1 of a search", `page=1&search=${BUSY_ACCOUNT}`],
  ] as const) {
    const figures = await load(() => get(owner, `${lists}&${part}`, headers));
    console.log(line(`(d) accounts, ${title}, limit ${LIMIT}, of ${ACCOUNTS}`, figures));
  }
  await owner.close();
}

/** Writes query plans of history pages. `database` has the connection settings of the services. */
async function explain(database: Database, serverId: string): Promise<void> {
  const parts: string[] = [`${DEALS} deals in the schema, ${DEALS_OF_ONE} on the account that is asked for.`];
  const asked = [
    ["deals, page 1", DEALS_PAGE, 0, []],
    [`deals, page ${FAR_PAGE}`, DEALS_PAGE, (FAR_PAGE - 1) * LIMIT, []],
    [`orders, page ${FAR_PAGE}`, ORDERS_PAGE, (FAR_PAGE - 1) * LIMIT, []],
    ["positions, status=open, page 1", OPEN_POSITIONS_PAGE, 0, []],
    ["deals, an unknown symbol", FILTERED_DEALS, 0, [null, null, "NONE", null, null, null, null]],
    ["orders, an unknown symbol", FILTERED_ORDERS, 0, [null, null, "NONE", null, null, null]],
  ] as const;
  for (const [title, page, offset, filters] of asked) {
    const explained = statement<Record<"QUERY PLAN", string>>(
      `explain-${page.name}`,
      `explain (analyze, buffers) ${page.text}`,
    );
    const rows = await database.query(explained, [serverId, BUSY_ACCOUNT, offset, LIMIT, null, ...filters]);
    parts.push(`## ${title}\n\n${rows.map((row) => row["QUERY PLAN"]).join("\n")}`);
  }
  writeFileSync(EXPLAIN_FILE, `${parts.join("\n\n")}\n`);
}

/** Measures memory during a list of all accounts, which the gateway streams. */
async function measureList(stack: Stack, demo: Demo): Promise<void> {
  const api = new Pool(demo.baseUrl, { connections: LISTS_AT_ONCE });
  const headers = { authorization: `Management ${demo.managementKey}` };
  const url = `/api/v1/management/servers/${demo.serverId}/accounts`;
  for (let index = 0; index < 200; index += 1) await get(api, `${url}?limit=100`, headers);
  const pids = new Map(
    ["gateway", "account"].map((name) => {
      const { pid } = stack.process(name);
      if (pid === null) throw new Error(`${name} does not run`);
      return [name, pid] as const;
    }),
  );
  const idle = new Map([...pids].map(([name, pid]) => [name, residentBytes(pid)]));
  for (const lists of [1, LISTS_AT_ONCE]) {
    const beganMs = performance.now();
    const peaks = await peaksDuring(pids, async () => {
      await Promise.all(Array.from({ length: lists }, () => readList(api, url, headers)));
    });
    const seconds = ((performance.now() - beganMs) / 1000).toFixed(1);
    for (const [name, bytes] of peaks) {
      const above = bytes - (idle.get(name) ?? 0);
      const text = `(c) ${ACCOUNTS} accounts, ${lists} lists at once, ${seconds} s: ${name}`;
      console.log(`${text.padEnd(64)} ${Math.round(above / MB)} MB above idle   aim < ${AIM_BYTES / MB} MB`);
    }
  }
  await api.close();
}

/** Reads the list as a stream, so that this process does not hold it in memory. */
async function readList(api: Pool, url: string, headers: Record<string, string>): Promise<void> {
  const answer = await api.request({ method: "GET", path: url, headers });
  let accounts = 0;
  let rest = "";
  for await (const chunk of answer.body.setEncoding("utf8")) {
    const parts = (rest + String(chunk)).split('"accountNumber":');
    accounts += parts.length - 1;
    rest = parts.at(-1) ?? "";
  }
  if (answer.statusCode !== 200 || accounts < ACCOUNTS)
    throw new Error(`${url} returned ${answer.statusCode} with ${accounts} accounts, expected 200 with ${ACCOUNTS}`);
}

// Stops the processes of a killed run first. Each run starts with empty servers.
await stopRecorded(STATE_DIR);
rmSync(STATE_DIR, { recursive: true, force: true });
const stack = await startStack({ stateDir: STATE_DIR, report: printedReport() });
try {
  const demo = await createDemo(stack, { credits: 1_000_000_000, autoTraders: 0 });
  const { postgresUrl } = stack.servers;
  const beganMs = performance.now();
  await fillHistory(postgresUrl, demo);
  console.log(`filled with ${DEALS} deals in ${((performance.now() - beganMs) / 1000).toFixed(0)} s`);
  const logger = createLogger({ service: "bench", level: "error" });
  const pool = await startPool({ connectionString: postgresUrl, schema: "account", applicationName: "bench", logger });
  await measurePages(stack, demo);
  await measureAccountPages(stack, demo);
  await explain(pool.value, demo.serverId);
  await pool.stop();
  await measureList(stack, demo);
} finally {
  await stack.stop();
}
