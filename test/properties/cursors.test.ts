/**
 * A caller who follows `nextCursor` reads every record that existed at the first page exactly once,
 * whatever is added meanwhile. Filters return exactly the records that match.
 */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { inFlight } from "../e2e/in-flight.ts";
import type { EnvelopeView, ErrorAnswer, OutsideClient } from "../e2e/outside-client.ts";
import { startTwoGateways, type TwoGateways } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { WebhookReceiver } from "../e2e/webhook-receiver.ts";
import { type CursorPage, type Fields, pageOf, walk, walked } from "./cursors.ts";

const RECORDS = 26;
const LIMIT = 5;
const IN_FLIGHT = 16;
const WALK_TIMEOUT_MS = 120_000;

interface List {
  /** The member of the answer that has the records. */
  readonly field: string;
  readonly path: () => string;
  /** The field that identifies a record; null: the whole record does. */
  readonly id: string | null;
  /** The field that `from` and `to` compare; null: the tests do not filter the list by time. */
  readonly time: string | null;
  /** The field of the record that a filter compares, by the name of the filter. */
  readonly filters: Readonly<Record<string, string>>;
  /** Adds a record to the list. */
  readonly add: () => Promise<unknown>;
}

let system: TwoGateways;
let client: OutsideClient;
let other: OutsideClient;
let control: TradingControl;
let receiver: WebhookReceiver;
let account: string;
let endpointId: string;

const ofAccount = (list: string) => (): string => client.server(`/accounts/${account}/${list}`);
const same = (...names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, name]));

async function deposit(): Promise<void> {
  const { body } = await client.deposit(account, { amount: 1, requestId: randomUUID() });
  await client.succeeded(body.command.id);
}
const trade = (): Promise<unknown> => control.buy(account, "EURUSD", 0.01);

const LISTS: Readonly<Record<string, List>> = {
  transactions: {
    field: "transactions",
    path: ofAccount("transactions"),
    id: "id",
    time: "recordedAt",
    filters: same("type", "orderId", "positionId", "dealId", "commandId", "requestId"),
    add: deposit,
  },
  orders: {
    field: "orders",
    path: ofAccount("orders"),
    id: "id",
    time: "createdAt",
    filters: same("symbol", "side", "status", "orderType"),
    add: trade,
  },
  positions: {
    field: "positions",
    path: ofAccount("positions"),
    id: "id",
    time: "openedAt",
    filters: same("symbol", "side", "orderId", "status"),
    add: trade,
  },
  deals: {
    field: "deals",
    path: ofAccount("deals"),
    id: "id",
    time: "executedAt",
    filters: same("symbol", "side", "kind", "orderId", "positionId"),
    add: trade,
  },
  commands: {
    field: "commands",
    path: () => client.server("/commands"),
    id: "id",
    // In this list `to` is inclusive.
    time: null,
    filters: { ...same("operation", "accountNumber", "requestId"), idempotencyKeyPrefix: "idempotencyKey" },
    add: deposit,
  },
  "credit usage": {
    field: "usage",
    path: () => "/credits/usage",
    id: null,
    time: "at",
    filters: same("operation", "xRequestId", "commandId"),
    add: deposit,
  },
  deliveries: {
    field: "deliveries",
    path: () => `/webhooks/${endpointId}/deliveries`,
    id: "id",
    time: "createdAt",
    filters: same("type", "status", "eventId"),
    add: deposit,
  },
  accounts: {
    field: "accounts",
    path: () => client.server("/accounts"),
    id: "accountNumber",
    time: null,
    filters: { ...same("status"), search: "accountNumber" },
    add: () => client.openAccount(),
  },
};
const NAMES = Object.keys(LISTS);

function listOf(name: string): List {
  const list = LISTS[name];
  if (list === undefined) throw new Error(`no list ${name}`);
  return list;
}

function idOf({ id }: List, record: Fields): unknown {
  return id === null ? JSON.stringify(record) : record[id];
}

async function total({ path, field }: List): Promise<number> {
  return (await pageOf(client, path(), field, { page: 1, limit: 1 })).pagination.total;
}

/** Adds a record and waits until the list has it. */
async function grow(list: List): Promise<void> {
  const before = await total(list);
  await list.add();
  await eventually(async () => (await total(list)) > before);
}

beforeAll(async () => {
  // Prices do not change: a stop-out would change a list during the test.
  system = await startTwoGateways({ "trading-simulator": { TICK_INTERVAL_MS: "0" } });
  receiver = await WebhookReceiver.start();
  [client, other] = await system.newOrganization();
  control = new TradingControl(client.demo);
  const added = await client.call<{ endpoint: { id: string } }>("POST", "/webhooks", { body: { url: receiver.url } });
  endpointId = added.body.endpoint.id;
  const accounts = await inFlight(RECORDS, IN_FLIGHT, () => client.openAccount(10_000));
  account = accounts[0] ?? "";
  await inFlight(RECORDS, IN_FLIGHT, deposit);
  const positions = await inFlight(RECORDS, IN_FLIGHT, (index) =>
    control.buy(account, index % 3 === 0 ? "GBPUSD" : "EURUSD", 0.01),
  );
  await inFlight(RECORDS / 2, IN_FLIGHT, (index) => control.close(account, positions[index] ?? ""));
  await eventually(async () => (await total(listOf("deals"))) === RECORDS + RECORDS / 2);
  let known = -1;
  await eventually(
    async () => {
      const before = known;
      known = (await total(listOf("transactions"))) + (await total(listOf("deliveries")));
      return known === before;
    },
    { intervalMs: 1_000 },
  );
});

afterAll(async () => {
  await receiver.stop();
  await system.stop();
});

describe("while records are added to a list", () => {
  it.each(NAMES)(
    "reading %s by cursor gives each existing record exactly once; numbered pages miss or repeat records",
    { timeout: WALK_TIMEOUT_MS },
    async (name) => {
      const list = listOf(name);
      const before = new Set((await walked(client, list.path(), list.field)).map((record) => idOf(list, record)));
      const byNumber: unknown[] = [];
      for (let page = 1; page <= RECORDS / LIMIT; page += 1) {
        const { records } = await pageOf(client, list.path(), list.field, { page, limit: LIMIT });
        byNumber.push(...records.map((record) => idOf(list, record)));
        await grow(list);
      }
      expect(byNumber).toHaveLength(Math.floor(RECORDS / LIMIT) * LIMIT);
      expect(new Set(byNumber.filter((id) => before.has(id))).size).toBeLessThan(byNumber.length);

      const existing = (await walked(client, list.path(), list.field)).map((record) => idOf(list, record));
      const pages: CursorPage[] = [];
      const readers = [client, other];
      let query: Record<string, string | number> = { limit: LIMIT };
      for (;;) {
        // The pages are read through the two gateways in turn.
        const reader = readers[pages.length % 2] ?? client;
        const page = await pageOf(reader, list.path(), list.field, query);
        pages.push(page);
        if (page.pagination.nextCursor === null) break;
        query = { limit: LIMIT, cursor: page.pagination.nextCursor };
        if (pages.length <= RECORDS / LIMIT) await grow(list);
      }
      expect(pages.map(({ pagination }) => pagination.page)).toEqual(pages.map((_, index) => index + 1));
      const seen = pages.flatMap(({ records }) => records.map((record) => idOf(list, record)));
      expect(new Set(seen).size).toBe(seen.length);
      const known = new Set(existing);
      expect(seen.filter((id) => known.has(id))).toEqual(existing);
    },
  );
});

describe("a filter", () => {
  it.each(NAMES)(
    "of %s returns exactly the records that match: by each field, and by time in every list except commands and accounts",
    { timeout: WALK_TIMEOUT_MS },
    async (name) => {
      const { field, path, time, filters } = listOf(name);
      // Reads add usage lines, so the newest lines are not compared.
      const newest = time === null ? {} : { to: new Date().toISOString() };
      let all: readonly Fields[] = [];
      await eventually(async () => {
        const before = all.length;
        all = await walked(client, path(), field, newest);
        return all.length === before;
      });
      const found = (query: Record<string, string>): Promise<Fields[]> =>
        walked(client, path(), field, { ...newest, ...query, limit: 7 });
      for (const [filter, compared] of Object.entries(filters)) {
        const values = new Set(all.map((record) => record[compared]).filter((value) => typeof value === "string"));
        const value = [...values][Math.floor(values.size / 2)] ?? "";
        const expected = all.filter((record) => record[compared] === value);
        expect([filter, await found({ [filter]: value })]).toEqual([filter, expected]);
        expect([filter, expected.length > 0]).toEqual([filter, true]);
      }
      if (time === null) return;
      const times = all.map((record) => String(record[time])).toSorted();
      const [from, to] = [times[Math.floor(times.length / 3)] ?? "", times[Math.floor((2 * times.length) / 3)] ?? ""];
      const between = all.filter((record) => String(record[time]) >= from && String(record[time]) < to);
      expect(await found({ from, to })).toEqual(between);
      const [[filter, compared] = ["", ""]] = Object.entries(filters);
      const value = String(between.find((record) => record[compared] !== null)?.[compared]);
      expect(await found({ from, to, [filter]: value })).toEqual(
        between.filter((record) => record[compared] === value),
      );
    },
  );
});

describe("a cursor", () => {
  it.each(NAMES)("of %s reads the next page even if the request has page=1", async (name) => {
    const list = listOf(name);
    const first = await pageOf(client, list.path(), list.field, { page: 1, limit: 1 });
    const query = { limit: 1, cursor: first.pagination.nextCursor ?? "" };
    const second = await pageOf(client, list.path(), list.field, query);
    expect(second.pagination.page).toBe(2);
    const again = await pageOf(client, list.path(), list.field, { ...query, page: 1 });
    // Each read of usage adds a line, so that totals differ.
    expect([again.records, again.pagination.page, again.pagination.nextCursor]).toEqual([
      second.records,
      2,
      second.pagination.nextCursor,
    ]);
  });

  it.each(NAMES)(
    "of %s is 400 if it is malformed, of another list, or sent with page=2; `from` after `to` is 400 in every list except accounts",
    async (name) => {
      const list = listOf(name);
      const rejected = async (path: string, query: string): Promise<unknown> => {
        const { status, body } = await client.call<ErrorAnswer>("GET", `${path}?${query}`);
        return [status, body.issues?.[0]?.path];
      };
      const elsewhere = listOf(name === "orders" ? "deals" : "orders");
      const nextOf = async ({ path, field }: List): Promise<string> =>
        (await pageOf(client, path(), field, { limit: 1 })).pagination.nextCursor ?? "";
      const own = await nextOf(list);
      for (const cursor of ["", "x", "%00", "e30", "A".repeat(201), own.slice(1), await nextOf(elsewhere)]) {
        expect([cursor, await rejected(list.path(), `cursor=${cursor}`)]).toEqual([cursor, [400, ["cursor"]]]);
      }
      expect(await rejected(list.path(), `cursor=${own}&page=2`)).toEqual([400, ["page"]]);
      const another = list.path().replace(account, "99999999");
      if (another !== list.path()) expect(await rejected(another, `cursor=${own}`)).toEqual([400, ["cursor"]]);
      const span = "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z";
      if (name !== "accounts") expect(await rejected(list.path(), span)).toEqual([400, ["from"]]);
    },
  );
});

describe("a list of commands", () => {
  const commandsOf = (query: Readonly<Record<string, string>>): Promise<CursorPage> =>
    pageOf(client, client.server("/commands"), "commands", { limit: 100, ...query });
  const commandsFrom = (prefix: string): Promise<CursorPage> => commandsOf({ idempotencyKeyPrefix: prefix });

  it.each([
    ["the key of the bulk", (key: string) => ({ bulkIdempotencyKey: key })],
    ["the beginning of their keys", (key: string) => ({ idempotencyKeyPrefix: `${key}:` })],
  ])("has all commands of a bulk by %s, and with `wait` returns when each is final", async (_by, filterOf) => {
    const key = `bulk-${randomUUID()}`;
    const body = { accountName: "Bulk", initialBalance: 100, leverage: 100 };
    const accounts = Array.from({ length: 12 }, (_, index) => ({ ...body, requestId: `item ${index}` }));
    await control.inject({ kind: "delay", count: null, delayMs: 1_500 });
    const path = client.server("/accounts/bulk");
    const queued = await client.call<{ results: EnvelopeView[] }>("POST", path, {
      body: { accounts },
      idempotencyKey: key,
    });
    expect(queued.status).toBe(202);
    const open = await eventually(async () => {
      const page = await commandsOf(filterOf(key));
      return page.pagination.total === accounts.length && page;
    });
    expect(open.records.some(({ status }) => status !== "succeeded")).toBe(true);
    const { records } = await commandsOf({ ...filterOf(key), wait: "30" });
    await control.clearFaults();
    expect(records.map(({ status }) => status)).toEqual(accounts.map(() => "succeeded"));
    expect(new Set(records.map(({ id }) => id))).toEqual(new Set(queued.body.results.map(({ command }) => command.id)));
    expect((await commandsFrom(`${key}:1`)).pagination.total).toBe(3);
  });

  it("matches the characters of idempotencyKeyPrefix literally, and rejects a prefix that is too long", async () => {
    const start = randomUUID();
    for (const key of [`${start}%_`, `${start}\\`, `${start}xx`]) {
      const { body } = await client.deposit(account, { amount: 1, requestId: "r" }, key);
      await client.succeeded(body.command.id);
    }
    const keysFrom = async (prefix: string): Promise<unknown[]> =>
      (await commandsFrom(prefix)).records.map(({ idempotencyKey }) => idempotencyKey);
    expect(await keysFrom(`${start}%`)).toEqual([`${start}%_`]);
    expect(await keysFrom(`${start}_`)).toEqual([]);
    expect(await keysFrom(`${start}\\`)).toEqual([`${start}\\`]);
    expect(await keysFrom(start)).toHaveLength(3);
    const whole = [];
    for await (const { records } of walk(client, client.server("/commands"), "commands", {
      idempotencyKeyPrefix: start,
      limit: 1,
    })) {
      whole.push(...records);
    }
    expect(whole.map(({ idempotencyKey }) => idempotencyKey)).toEqual(await keysFrom(start));
    const tooLong = await client.call("GET", client.server(`/commands?idempotencyKeyPrefix=${"k".repeat(105)}`));
    expect(tooLong.status).toBe(400);
  });
});
