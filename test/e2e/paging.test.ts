/**
 * Lists are read by cursor while records are added: each record that existed when the first page
 * was read is returned exactly once (decisions, 14). Breaches and daily digests are not tested
 * here.
 */
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type EnvelopeView, OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

const RECORDS = 25;
const ACCOUNTS = 10;
const PAGE_LIMIT = 4;

type ListedRecord = Readonly<Record<string, unknown>>;
interface ListPage {
  readonly pagination: { readonly page: number; readonly total: number; readonly nextCursor: string | null };
  readonly [field: string]: unknown;
}

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;
let receiver: WebhookReceiver;
let accountNumber: string;
let endpointId: string;

beforeAll(async () => {
  system = await startSystem();
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
  receiver = await WebhookReceiver.start();
  accountNumber = await client.openAccount(1_000_000, 100);
  const body = { url: receiver.url, kinds: ["transaction.recorded"] };
  endpointId = (await client.call<{ endpoint: { id: string } }>("POST", "/webhooks", { body })).body.endpoint.id;
  for (let count = 0; count < RECORDS; count += 1) {
    await deposit();
    await trade();
  }
  for (let count = 0; count < ACCOUNTS; count += 1) await client.openAccount();
  await untilTotal("positions", (total) => total === RECORDS);
});

afterAll(async () => {
  await receiver.stop();
  await system.stop();
});

async function deposit(): Promise<void> {
  const { body } = await client.deposit(accountNumber, { amount: 1, requestId: "paging" });
  await client.succeeded(body.command.id);
}

async function trade(): Promise<void> {
  await control.close(accountNumber, await control.buy(accountNumber, "EURUSD", 0.01));
}

const ofAccount = (name: string): string => client.server(`/accounts/${accountNumber}/${name}`);

/** The tested lists: the field of the records, the path, the id of a record, what adds a record. */
const LISTS: readonly {
  readonly name: string;
  readonly path: () => string;
  readonly id: (record: ListedRecord) => unknown;
  readonly add: () => Promise<unknown>;
}[] = [
  { name: "transactions", path: () => ofAccount("transactions"), id: ({ id }) => id, add: deposit },
  { name: "orders", path: () => ofAccount("orders"), id: ({ id }) => id, add: trade },
  { name: "positions", path: () => ofAccount("positions"), id: ({ id }) => id, add: trade },
  { name: "deals", path: () => ofAccount("deals"), id: ({ id }) => id, add: trade },
  { name: "commands", path: () => client.server("/commands"), id: ({ id }) => id, add: deposit },
  { name: "usage", path: () => "/credits/usage", id: (line) => JSON.stringify(line), add: deposit },
  { name: "deliveries", path: () => `/webhooks/${endpointId}/deliveries`, id: ({ id }) => id, add: deposit },
  {
    name: "accounts",
    path: () => client.server("/accounts"),
    id: (record) => record["accountNumber"],
    add: () => client.openAccount(),
  },
];

async function page(path: string, query: Readonly<Record<string, string | number>>): Promise<ListPage> {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) text.set(name, String(value));
  const { status, body } = await client.call<ListPage>("GET", `${path}?${text.toString()}`);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body;
}

const recordsOf = (list: ListPage, name: string): readonly ListedRecord[] => list[name] as readonly ListedRecord[];

async function untilTotal(name: string, isReached: (total: number) => boolean): Promise<void> {
  await eventually(async () => isReached((await page(ofAccount(name), {})).pagination.total));
}

/** Reads the whole list by cursor; `between` runs between two pages. */
async function walk(
  path: string,
  name: string,
  between: () => Promise<unknown>,
  query: Readonly<Record<string, string | number>> = {},
): Promise<ListedRecord[]> {
  const records: ListedRecord[] = [];
  let list = await page(path, { ...query, limit: PAGE_LIMIT });
  for (let number = 1; ; number += 1) {
    expect(list.pagination.page).toBe(number);
    records.push(...recordsOf(list, name));
    const { nextCursor } = list.pagination;
    if (nextCursor === null) return records;
    await between();
    list = await page(path, { ...query, limit: PAGE_LIMIT, cursor: nextCursor });
  }
}

const nothing = (): Promise<void> => Promise.resolve();

describe.each(LISTS)("the list of $name", ({ name, path, id, add }) => {
  it("has each record once when it is read by cursor, although records are added", async () => {
    const before = (await walk(path(), name, nothing)).map(id);
    expect(before.length).toBeGreaterThan(2 * PAGE_LIMIT);
    const walked = (await walk(path(), name, add)).map(id);
    // A usage line has no id: its whole text is compared, with the `xRequestId` of its request.
    expect(new Set(walked).size).toBe(walked.length);
    const old = new Set(before);
    expect(walked.filter((record) => old.has(record))).toEqual(before);
  });

  it("rejects a text that is not a cursor, and a cursor of another list", async () => {
    const other = name === "orders" ? "deals" : "orders";
    const { nextCursor } = (await page(ofAccount(other), { limit: 1 })).pagination;
    for (const cursor of ["", "nonsense", nextCursor ?? ""]) {
      const { status, body } = await client.call<{ issues: { path: string[] }[] }>(
        "GET",
        `${path()}?cursor=${encodeURIComponent(cursor)}`,
      );
      expect({ status, paths: body.issues.map((issue) => issue.path) }, cursor).toEqual({
        status: 400,
        paths: [["cursor"]],
      });
    }
  });
});

it("pages by number can repeat records if records are added between the requests", async () => {
  const read: unknown[] = [];
  for (let number = 1; number <= 5; number += 1) {
    const list = await page(ofAccount("transactions"), { page: number, limit: 5 });
    read.push(...recordsOf(list, "transactions").map(({ id }) => id));
    await deposit();
  }
  expect(read.length).toBe(RECORDS);
  expect(new Set(read).size).toBeLessThan(read.length);
});

describe("filters", () => {
  it.each([
    ["transactions", { type: "deposit" }],
    ["transactions", { type: "initial_balance" }],
    ["transactions", { requestId: "paging" }],
    ["orders", { symbol: "EURUSD", side: "buy" }],
    ["orders", { symbol: "XAUUSD" }],
    ["positions", { status: "closed", symbol: "EURUSD" }],
    ["deals", { symbol: "EURUSD", side: "sell" }],
  ] as const)("of %s, here %o, return exactly the records with these values", async (name, filter) => {
    const all = await walk(ofAccount(name), name, nothing);
    const expected = all.filter((record) => Object.entries(filter).every(([field, value]) => record[field] === value));
    expect(await walk(ofAccount(name), name, nothing, filter)).toEqual(expected);
    expect((await page(ofAccount(name), { ...filter, limit: 1 })).pagination.total).toBe(expected.length);
  });

  it.each([
    ["transactions", "recordedAt"],
    ["orders", "createdAt"],
    ["positions", "openedAt"],
    ["deals", "executedAt"],
  ])("of %s by time include `from` and exclude `to`", async (name, field) => {
    const all = await walk(ofAccount(name), name, nothing);
    const [to = "", from = ""] = [all[3]?.[field], all[12]?.[field]].map(String);
    const expected = all.filter((record) => String(record[field]) >= from && String(record[field]) < to);
    expect(expected.length).toBeGreaterThan(3);
    expect(await walk(ofAccount(name), name, nothing, { from, to })).toEqual(expected);
  });

  it("select deals by order and by position, and transactions by deal", async () => {
    const [deal] = recordsOf(await page(ofAccount("deals"), { limit: 1 }), "deals");
    const { orderId, positionId, id } = deal as { orderId: string; positionId: string; id: string };
    expect((await walk(ofAccount("deals"), "deals", nothing, { orderId })).map((found) => found["id"])).toEqual([id]);
    expect((await walk(ofAccount("deals"), "deals", nothing, { positionId })).length).toBe(2);
    const all = await walk(ofAccount("transactions"), "transactions", nothing);
    const ofDeal = all.filter((transaction) => transaction["dealId"] === id);
    expect(ofDeal.length).toBeGreaterThan(0);
    expect(await walk(ofAccount("transactions"), "transactions", nothing, { dealId: id })).toEqual(ofDeal);
  });

  it("of usage and deliveries by time exclude `to`", async () => {
    for (const [path, name, field] of [
      ["/credits/usage", "usage", "at"],
      [`/webhooks/${endpointId}/deliveries`, "deliveries", "createdAt"],
    ] as const) {
      const all = await walk(path, name, nothing);
      const to = String(all.at(6)?.[field]);
      const expected = all.filter((record) => String(record[field]) < to).length;
      const found = await walk(path, name, nothing, { to });
      expect(found.length).toBeGreaterThan(0);
      expect(found.length).toBe(expected);
    }
  });

  it("with `from` after `to` are rejected", async () => {
    const query = "from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z";
    for (const path of [ofAccount("deals"), ofAccount("transactions"), "/credits/usage"]) {
      expect((await client.call("GET", `${path}?${query}`)).status, path).toBe(400);
    }
  });

  it("find the commands of a bulk by its idempotency key, for a caller who lost the 202 response", async () => {
    const account = { accountName: "Bulk", initialBalance: 1, leverage: 100, requestId: "bulk" };
    const accounts = Array.from({ length: 7 }, () => account);
    const key = `bulk-${accountNumber}`;
    const path = client.server("/accounts/bulk");
    const queued = await client.call<{ results: EnvelopeView[] }>("POST", path, {
      body: { accounts },
      idempotencyKey: key,
    });
    for (const { command } of queued.body.results) await client.succeeded(command.id);
    const found = await walk(client.server("/commands"), "commands", nothing, { bulkIdempotencyKey: key });
    expect(new Set(found.map((command) => command["idempotencyKey"]))).toEqual(
      new Set(accounts.map((_account, index) => `${key}:${index}`)),
    );
  });
});
