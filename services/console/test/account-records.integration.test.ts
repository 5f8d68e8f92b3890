/** Lists about one account in the console, and as CSV. */
import { randomUUID } from "node:crypto";

import { listScope, encodeCursor } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { MAX_EXPORTED_RECORDS } from "../src/operations/export-account-records.ts";
import { type Browser, type ConsoleHarness, type ConsoleUser, startConsoleHarness } from "./harness.ts";

const NUMBER = "10000001";
const EMPTY = "10000002";
const LISTS = ["orders", "positions", "deals", "transactions", "commands"] as const;
const RECORDS = 250;

let harness: ConsoleHarness;
let person: ConsoleUser;
let browser: Browser;

beforeAll(async () => {
  harness = await startConsoleHarness();
  person = await harness.person({ name: "Ada" });
  browser = await harness.signedIn(person);
  const { accounts, recordCounts } = harness.standIns;
  accounts.set(person.serverId, [NUMBER, EMPTY]);
  recordCounts.set(NUMBER, RECORDS);
  harness.standIns.recordedBy = { type: "user", id: person.userId };
});
afterAll(() => harness.stop());

const account = (below: string, number = NUMBER, { serverId } = person): string =>
  `/servers/${serverId}/accounts/${number}/${below}`;

const lines = (csv: string): string[] => csv.trimEnd().split("\r\n");

describe.each(LISTS)("the %s of an account", (list) => {
  it("are read with filters and by cursor", async () => {
    const filter = list === "transactions" ? "type=deposit" : list === "commands" ? "operation=finance.deposit" : "";
    const times = "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z";
    const { status, body } = await browser.ask("GET", account(`${list}?limit=100&${times}&${filter}`));
    expect(status).toBe(200);
    expect(body["asked"]).toMatchObject({
      from: "2026-01-01T00:00:00.000Z",
      to: "2026-02-01T00:00:00.000Z",
      ...Object.fromEntries(new URLSearchParams(filter)),
      ...(list === "commands" ? { accountNumber: NUMBER, organizationId: person.organizationId } : {}),
    });
    const { nextCursor } = body["pagination"] as { nextCursor: string };
    const second = await browser.ask("GET", account(`${list}?limit=100&cursor=${nextCursor}`));
    expect(second.body["pagination"]).toMatchObject({ page: 2, total: RECORDS });
    const ids = [body, second.body].flatMap((page) => (page[list] as { id: string }[]).map(({ id }) => id));
    expect(new Set(ids).size).toBe(200);
  });

  it("reject a wrong filter, and a cursor of another account's list", async () => {
    const scope = listScope({ serverId: randomUUID(), accountNumber: NUMBER });
    const after = list === "commands" ? (["2026-01-01T00:00:00.000000Z", randomUUID()] as const) : ([7] as const);
    const cursor = encodeCursor(list, { scope, page: 2, after: after as never });
    for (const query of [
      `cursor=${cursor}`,
      "limit=101",
      "from=yesterday",
      "from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    ]) {
      expect([query, (await browser.ask("GET", account(`${list}?${query}`))).status]).toEqual([query, 400]);
    }
  });

  it("are 404 for another organization, also as CSV", async () => {
    const stranger = await harness.signedIn(await harness.person());
    for (const path of [list, `${list}.csv`]) {
      expect(await stranger.ask("GET", account(path))).toMatchObject({
        status: 404,
        body: { code: "SERVER_NOT_FOUND" },
      });
    }
  });

  it("are exported with every record once, whatever page is asked for", async () => {
    const answer = await browser.ask("GET", account(`${list}.csv?limit=1&page=2`));
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(answer.headers.get("content-disposition")).toBe(`attachment; filename="${list}.csv"`);
    expect(answer.headers.get("x-total-rows")).toBe(String(RECORDS));
    const [columnNames = "", ...rows] = lines(answer.text);
    expect(new Set(rows.map((row) => row.split(",").length))).toEqual(new Set([columnNames.split(",").length]));
    expect(new Set(list === "commands" || list === "transactions" ? ids(rows) : rows).size).toBe(RECORDS);
    if (columnNames.includes("requested by")) {
      expect(rows[0]).toContain(`,user/${person.userId},Ada`);
    }
  });
});

const ids = (rows: readonly string[]): string[] => rows.flatMap((row) => /018f0000-[\d-]+/.exec(row)?.[0] ?? []);

it("lists of records are 404 for an unknown account; for an account without records they are empty, and their CSV has only column names", async () => {
  for (const list of ["orders", "positions", "deals", "transactions"]) {
    for (const path of [list, `${list}.csv`]) {
      expect(await browser.ask("GET", account(path, "99999999"))).toMatchObject({
        status: 404,
        body: { code: "ACCOUNT_NOT_FOUND" },
      });
    }
    expect((await browser.ask("GET", account(list, EMPTY))).body[list]).toEqual([]);
    const csv = await browser.ask("GET", account(`${list}.csv`, EMPTY));
    expect([csv.headers.get("x-total-rows"), lines(csv.text).length]).toEqual(["0", 1]);
  }
});

it("in a CSV export, a text that a spreadsheet would run as a formula begins with an apostrophe, and an amount stays a number", async () => {
  const transactions = await browser.ask("GET", account("transactions.csv"));
  expect(lines(transactions.text)[1]).toContain(",deposit,12.50,USD,100.00,112.50,'=1+1,payout,");
  const orders = await browser.ask("GET", account("orders.csv"));
  expect(lines(orders.text)[1]).toContain(",'=EURUSD,buy,limit,0.5,executed,");
  const deals = await browser.ask("GET", account("deals.csv"));
  expect(lines(deals.text)[1]).toContain(",-12.50,-0.50,0.00,");
});

it("an export of more records than allowed is rejected, and the error names the limit", async () => {
  harness.standIns.recordCounts.set(EMPTY, MAX_EXPORTED_RECORDS + 1);
  for (const list of LISTS) {
    const { status, body } = await browser.ask("GET", account(`${list}.csv`, EMPTY));
    expect(status).toBe(400);
    expect(JSON.stringify(body["issues"])).toContain("100,001 records match, and an export has at most 100,000");
  }
  harness.standIns.recordCounts.delete(EMPTY);
});

it("if a page cannot be read, the export breaks off, so that an incomplete file does not look complete", async () => {
  harness.standIns.unanswered = /transactions.*cursor=/;
  await expect(browser.ask("GET", account("transactions.csv"))).rejects.toThrow();
  harness.standIns.unanswered = null;
});

it("while finance is unavailable, the list of transactions fails, and the list of deals works", async () => {
  harness.standIns.unanswered = /\/transactions/;
  expect((await browser.ask("GET", account("transactions"))).status).toBe(500);
  expect((await browser.ask("GET", account("deals"))).status).toBe(200);
  harness.standIns.unanswered = null;
});

describe("the audit log of an account", () => {
  it("has the entries about this account, by page and action, for owners only", async () => {
    const entry = (number: string, action: string) => ({
      eventId: randomUUID(),
      organizationId: person.organizationId,
      at: new Date().toISOString(),
      action,
      actor: null,
      address: null,
      subject: { type: "account", id: `${person.serverId}/${number}` },
      details: {},
    });
    const entries = [
      entry(NUMBER, "account.password_reset"),
      entry(EMPTY, "account.password_reset"),
      entry(NUMBER, "account.investor_password_reset"),
    ];
    for (const one of entries) harness.standIns.auditEvents.set(one.eventId, one);
    const actions = async (query: string): Promise<string[]> => {
      const { body } = await browser.ask("GET", account(`audit?${query}`));
      return (body["entries"] as { action: string }[]).map(({ action }) => action);
    };
    await eventually(async () =>
      expect(new Set(await actions(""))).toEqual(
        new Set(["account.investor_password_reset", "account.password_reset"]),
      ),
    );
    expect(await actions("action=account.password_reset")).toEqual(["account.password_reset"]);
    expect(await actions("limit=1")).toHaveLength(1);
    // The filter `subjectId` is ignored: the account of the path decides.
    expect(await actions(`subjectId=${person.serverId}/${EMPTY}`)).toHaveLength(2);
    const reader = await harness.signedIn(await harness.colleague(person, "read_only"));
    expect((await reader.ask("GET", account("audit"))).status).toBe(403);
    const stranger = await harness.signedIn(await harness.person());
    expect((await stranger.ask("GET", account("audit"))).status).toBe(404);
  });
});
