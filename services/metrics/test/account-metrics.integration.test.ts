import { randomUUID } from "node:crypto";

import {
  type AccountEvent,
  type AccountMetricSnapshot,
  AccountMetricsAnswer,
  accountKey,
  TOPICS,
  type Valuation,
} from "@kapi/contracts";
import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { callerHeaders, eventually, serverEntry } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { eventIdOf } from "../src/domain/sample.ts";
import { createSnapshotStore } from "../src/outbound/postgres/snapshot-store.ts";
import { LiveClient } from "./live-client.ts";
import { type MetricsProcess, Harness } from "./harness.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const STORED_MS = 15_000;

let harness: Harness;
let metrics: MetricsProcess;
let database: Database;
const clients: LiveClient[] = [];
const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const past = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 10 * MINUTE_MS;
/**
 * The first minute of the tests: ten minutes ago. If the nine minutes after it would cross midnight
 * (UTC), it is 20 minutes before midnight.
 */
const baseMs = past < today && past + 9 * MINUTE_MS >= today ? today - 20 * MINUTE_MS : past;

beforeAll(async () => {
  harness = await Harness.start();
  metrics = await harness.metrics();
  const logger = createLogger({ service: "test", level: "error" });
  const connectionString = harness.environment.postgresUrl;
  database = await harness.scope.start("database", () =>
    startPool({ connectionString, schema: "metrics", applicationName: "test", logger }),
  );
});

afterAll(async () => {
  for (const client of clients) client.close();
  await harness.scope.stop();
});

async function connect(to: MetricsProcess): Promise<LiveClient> {
  const client = await LiveClient.connect(to.wsUrl, harness.managementKey);
  clients.push(client);
  return client;
}

/** Publishes a valuation that was measured `seconds` after {@link baseMs}. */
function value(account: string, seconds: number, equity: number, change: Partial<Valuation> = {}): Promise<void> {
  const measuredAt = new Date(baseMs + seconds * 1_000).toISOString();
  return harness.value(account, [equity], { measuredAt, ...change });
}

function call(method: string, path: string, process = metrics): Promise<Response> {
  const whole = `/internal/servers/${path}`;
  const headers = callerHeaders(harness.environment.secrets, "metrics", method, whole);
  return fetch(process.url + whole, { method, headers });
}

async function list(query: Record<string, string>, serverId = harness.serverId): Promise<AccountMetricSnapshot[]> {
  const text = new URLSearchParams({ organizationId: harness.organizationId, ...query }).toString();
  const answer = await call("GET", `${serverId}/account-metrics?${text}`);
  expect(answer.status).toBe(200);
  return AccountMetricsAnswer.strict().parse(await answer.json()).snapshots;
}

function stored(accountNumber: string, count: number): Promise<AccountMetricSnapshot[]> {
  return eventually(
    async () => {
      const snapshots = await list({ accountNumber });
      expect(snapshots).toHaveLength(count);
      return snapshots;
    },
    { timeoutMs: STORED_MS },
  );
}

async function remove(account: string, from = metrics): Promise<void> {
  const answer = await call("DELETE", `${harness.serverId}/accounts/${account}`, from);
  expect({ status: answer.status, body: await answer.json() }).toEqual({ status: 200, body: {} });
}

function minuteAfter(minutes: number): string {
  return new Date(baseMs + minutes * MINUTE_MS).toISOString();
}

describe("the stored snapshots of an account", () => {
  it("are one per minute with a sample: the minute's last sample, with its drawdowns", async () => {
    const account = harness.account();
    await value(account, 5, 100_000);
    await value(account, 20, 90_000);
    await value(account, 59, 95_000, {
      marginMinor: 10_000,
      freeMarginMinor: 85_000,
      marginLevel: 950,
      openPositionCount: 1,
    });
    await value(account, 180, 98_000);
    const [newest, oldest] = await stored(account, 2);
    expect(oldest).toEqual({
      id: oldest?.id,
      organizationId: harness.organizationId,
      serverId: harness.serverId,
      accountNumber: account,
      eventId: eventIdOf({ serverId: harness.serverId, accountNumber: account }, 3),
      sequence: 3,
      balance: 1_000,
      equity: 950,
      usedMargin: 100,
      freeMargin: 850,
      marginLevel: 950,
      unrealizedProfit: -50,
      dailyDrawdown: 10,
      totalDrawdown: 10,
      accountStatus: "active",
      measuredAt: minuteAfter(0),
      createdAt: oldest?.createdAt,
    });
    expect(newest).toMatchObject({
      sequence: 4,
      measuredAt: minuteAfter(3),
      equity: 980,
      dailyDrawdown: 10,
      marginLevel: 0,
    });
    expect(newest?.id).not.toBe(oldest?.id);
    expect(await list({ accountNumber: account, limit: "1" })).toEqual([newest]);
  });

  it("do not change after they are stored: a late sample counts in the next snapshot's drawdown", async () => {
    const account = harness.account();
    await value(account, 5, 100_000);
    const before = await stored(account, 1);
    await value(account, 30, 40_000);
    await value(account, 90, 100_000);
    const after = await stored(account, 2);
    expect(after[1]).toEqual(before[0]);
    expect(after[0]).toMatchObject({ dailyDrawdown: 60, totalDrawdown: 60, sequence: 3 });
  });

  it("are stored only after the end of their minute", async () => {
    const [running, over] = [harness.account(), harness.account()];
    const measuredAt = new Date(Date.now() + MINUTE_MS).toISOString();
    await harness.value(running, [100], { measuredAt });
    await value(over, 5, 100);
    await stored(over, 1);
    expect(await list({ accountNumber: running })).toEqual([]);
  });

  it("show the account status of the event with the highest version", async () => {
    const account = harness.account();
    const event = (version: number, status: "active" | "archived" | "disabled"): AccountEvent => ({
      type: "account.updated",
      eventId: randomUUID(),
      organizationId: harness.organizationId,
      serverId: harness.serverId,
      accountNumber: account,
      occurredAt: new Date().toISOString(),
      accountSequence: version,
      accountId: randomUUID(),
      version,
      accountName: "Changed",
      status,
      leverage: 100,
    });
    const key = accountKey(harness.serverId, account);
    const send = (one: AccountEvent) =>
      harness.producer.send(TOPICS.accountEvents, { key, value: JSON.stringify(one) });
    await send(event(3, "disabled"));
    await send(event(2, "archived"));
    const status = statement<{ status: string }>(
      "test_status",
      "select status from account_statuses where account_number = $1",
    );
    await eventually(async () => expect(await database.query(status, [account])).toEqual([{ status: "disabled" }]));
    await value(account, 5, 100);
    expect(await stored(account, 1)).toMatchObject([{ accountStatus: "disabled" }]);
  });
});

describe("the snapshots of a server", () => {
  it("are sorted by minute, newest first, then by account number; from `since` to before `until`, at most `limit`", async () => {
    const server = serverEntry({ organizationId: harness.organizationId });
    await harness.putDirectory(server);
    const { serverId } = server;
    const accounts = ["account-a", "account-b", "account-c"];
    for (const account of accounts) harness.accounts.add(accountKey(serverId, account));
    const sent = accounts.flatMap((accountNumber) =>
      [0, 1, 2].map((minute) => ({ accountNumber, measuredAt: minuteAfter(minute) })),
    );
    for (const { accountNumber, measuredAt } of sent) {
      const equityMinor = Date.parse(measuredAt) % 1_000_000;
      const one = {
        serverId,
        accountNumber,
        measuredAt,
        equityMinor,
        balanceMinor: 1,
        marginMinor: 0,
        freeMarginMinor: equityMinor,
      };
      const body: Valuation = { ...one, marginLevel: 0, unrealizedProfitMinor: equityMinor - 1, openPositionCount: 0 };
      const key = accountKey(serverId, accountNumber);
      await harness.producer.send(TOPICS.tradingValuations, { key, value: JSON.stringify(body) });
    }
    const shown = (snapshots: AccountMetricSnapshot[]) =>
      snapshots.map(({ accountNumber, measuredAt }) => ({ accountNumber, measuredAt }));
    const expected = [2, 1, 0].flatMap((minute) => sent.filter(({ measuredAt }) => measuredAt === minuteAfter(minute)));
    await eventually(async () => expect(await list({}, serverId)).toHaveLength(9), { timeoutMs: STORED_MS });
    expect(shown(await list({}, serverId))).toEqual(expected);
    const between = { since: minuteAfter(1), until: minuteAfter(2) };
    expect(shown(await list(between, serverId))).toEqual(expected.slice(3, 6));
    expect(shown(await list({ ...between, limit: "2" }, serverId))).toEqual(expected.slice(3, 5));
    expect(await list({ accountNumber: "nobody" }, serverId)).toEqual([]);
    expect(await list({ organizationId: randomUUID() }, serverId)).toEqual([]);
    const bad = await call("GET", `${serverId}/account-metrics?organizationId=${harness.organizationId}&limit=1001`);
    expect(bad.status).toBe(400);
  });
});

describe("the equity history of an account", () => {
  const history = async (account: string, query: Record<string, string>): Promise<[number, unknown]> => {
    const all = { organizationId: harness.organizationId, from: minuteAfter(0), to: minuteAfter(10), ...query };
    const path = `${harness.serverId}/accounts/${account}/equity-history?${new URLSearchParams(all).toString()}`;
    const answer = await call("GET", path);
    return [answer.status, await answer.json()];
  };

  it("has the lowest equity of each part of the range, including the equity at the start of the part, and the deepest drawdown", async () => {
    const account = harness.account();
    const equities = { 5: 100_000, 65: 70_000, 110: 95_000, 150: 98_000, 250: 110_000 };
    for (const [seconds, equity] of Object.entries(equities)) await value(account, Number(seconds), equity);
    await stored(account, 4);
    const [status, body] = await history(account, { points: "2" });
    expect(status).toBe(200);
    const drawdown = { from: 1_000, to: 700 };
    const amounts = { equity: 1_100, balance: 1_000, lowest: 700, highest: 1_100, drawdown };
    const point = { startsAt: minuteAfter(0), endsAt: minuteAfter(5), ...amounts };
    expect(body).toEqual({ from: minuteAfter(0), to: minuteAfter(10), before: null, points: [point] });
    const [, parts] = await history(account, { from: minuteAfter(2), points: "8" });
    expect(parts).toMatchObject({
      before: { measuredAt: minuteAfter(1), equity: 950, balance: 1_000 },
      points: [
        { startsAt: minuteAfter(2), equity: 980, lowest: 950, drawdown: { from: 980, to: 980 } },
        { startsAt: minuteAfter(4), equity: 1_100, lowest: 980, drawdown: { from: 1_100, to: 1_100 } },
      ],
    });
  });

  it("is 404 for another organization, and 400 for a range or a number of points beyond the bounds", async () => {
    const account = harness.account();
    expect((await history(account, { organizationId: randomUUID() }))[0]).toBe(404);
    const days = (number: number): string => new Date(baseMs - number * DAY_MS).toISOString();
    expect((await history(account, { from: days(31), to: days(0) }))[0]).toBe(200);
    for (const wrong of [{ from: days(32), to: days(0) }, { to: minuteAfter(0) }, { points: "721" }, { points: "0" }]) {
      expect((await history(account, wrong))[0]).toBe(400);
    }
  });
});

describe("a metrics process", () => {
  it("stores after a restart what it had not stored when it was killed, and stores no snapshot twice", async () => {
    const account = harness.account();
    await value(account, 5, 100_000);
    const [first] = await stored(account, 1);
    const block = await blockSnapshots();
    await value(account, 65, 50_000);
    await value(account, 70, 80_000);
    await value(account, 130, 90_000);
    await eventually(async () => expect(await harness.samplesOf(account)).toHaveLength(4), { timeoutMs: STORED_MS });
    await metrics.kill();
    await block.release();
    metrics = await harness.metrics();
    const snapshots = await eventually(
      async () => {
        const found = await list({ accountNumber: account });
        expect(found).toHaveLength(3);
        return found;
      },
      { timeoutMs: 60_000 },
    );
    expect(snapshots[2]).toEqual(first);
    expect(snapshots.slice(0, 2)).toMatchObject([
      { sequence: 4, equity: 900, totalDrawdown: 50 },
      { sequence: 3, equity: 800, totalDrawdown: 50 },
    ]);
  });

  it("continues the live stream while the database accepts no snapshots, and stores them afterwards", async () => {
    const account = harness.account();
    const client = await connect(metrics);
    client.subscribe(harness.serverId, account, 0);
    const block = await blockSnapshots();
    for (let seconds = 0; seconds < 300; seconds += 30) await value(account, seconds, 100_000 + seconds);
    await client.until(() => client.last(account) === 10);
    expect(await list({ accountNumber: account })).toEqual([]);
    await block.release();
    expect((await stored(account, 5)).map(({ sequence }) => sequence)).toEqual([10, 8, 6, 4, 2]);
  });
});

/** Holds the lock that every writer of snapshots shares. */
async function blockSnapshots(): Promise<{ release(): Promise<void> }> {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let held = (): void => undefined;
  const holding = new Promise<void>((resolve) => {
    held = resolve;
  });
  const take = statement("test_block", "select pg_advisory_xact_lock(hashtext(current_schema() || ' snapshots'))");
  const done = database.transaction(async (tx) => {
    await tx.query(take, []);
    held();
    await released;
  });
  await holding;
  return {
    release: async () => {
      release();
      await done;
    },
  };
}

describe("a deleted account", () => {
  it("has no snapshots, its subscribers in every process get a message, and later valuations are rejected", async () => {
    const account = harness.account();
    const other = await harness.metrics({ ROLES: "stream" });
    const here = await connect(metrics);
    const there = await connect(other);
    for (const client of [here, there]) client.subscribe(harness.serverId, account, 0);
    await value(account, 5, 100);
    await value(account, 65, 200);
    await stored(account, 2);
    for (const client of [here, there]) await client.until(() => client.last(account) === 2);

    await remove(account, other);
    expect(await list({ accountNumber: account })).toEqual([]);
    for (const client of [here, there]) {
      await client.until(() => client.frames("account.deleted").length === 1);
      expect(client.frames("account.deleted")).toEqual([
        { type: "account.deleted", serverId: harness.serverId, accountNumber: account },
      ]);
      client.subscribe(harness.serverId, account);
      await client.until(() => client.frames("error").length === 1);
      expect(client.frames("error")).toMatchObject([{ code: "ACCOUNT_NOT_FOUND" }]);
    }

    const staying = harness.account();
    await value(account, 120, 300);
    await value(staying, 125, 300);
    await stored(staying, 1);
    const key = accountKey(harness.serverId, account);
    await eventually(async () => {
      const letters = (await harness.readAll(TOPICS.deadLetter)).filter(({ message }) => message.key === key);
      expect(letters.map(({ message }) => message.headers["reason"])).toEqual(["the account was deleted"]);
    });
    const samples = (await harness.samplesOf(account)).filter(({ message }) => message.value.length > 0);
    expect(samples).toHaveLength(2);
    await remove(account);
    expect(await list({ accountNumber: account })).toEqual([]);
    await other.kill("SIGTERM");
  });

  it("stays deleted after a restart, also without samples, and after a deletion that failed midway", async () => {
    const [known, unseen, halfway] = [harness.account(), harness.account(), harness.account()];
    await value(known, 5, 100);
    await stored(known, 1);
    await remove(known);
    await remove(unseen);
    await createSnapshotStore(database).deleteAccount({ serverId: harness.serverId, accountNumber: halfway });
    const key = accountKey(harness.serverId, known);
    const latest = (await harness.readAll(TOPICS.metricsLatest)).findLast(({ message }) => message.key === key);
    expect(latest?.message.value.length).toBe(0);
    await metrics.kill();
    metrics = await harness.metrics();
    const client = await connect(metrics);
    for (const account of [known, unseen, halfway]) client.subscribe(harness.serverId, account, 0);
    await client.until(() => client.frames("error").length === 3);
    for (const account of [known, unseen, halfway]) await value(account, 70, 100);
    const staying = harness.account();
    await value(staying, 70, 100);
    await eventually(async () => expect(await list({ accountNumber: staying })).toHaveLength(1), { timeoutMs: 60_000 });
    for (const accountNumber of [known, unseen, halfway]) expect(await list({ accountNumber })).toEqual([]);
  });
});
