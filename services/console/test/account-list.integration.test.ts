import { afterAll, beforeAll, expect, it } from "vitest";

import { type Browser, type ConsoleHarness, type ConsoleUser, startConsoleHarness } from "./harness.ts";

let harness: ConsoleHarness;
let person: ConsoleUser;
let browser: Browser;

beforeAll(async () => {
  harness = await startConsoleHarness();
  person = await harness.person();
  browser = await harness.signedIn(person);
  harness.standIns.accounts.set(
    person.serverId,
    Array.from({ length: 2_345 }, (_, index) => String(100_000 + index)),
  );
});
afterAll(() => harness.stop());

const path = (query: string): string => `/servers/${person.serverId}/accounts${query}`;

interface List {
  readonly accounts: { readonly accountNumber: string; readonly stored: { readonly dailyDrawdown: number } }[];
  readonly pagination: { readonly total: number; readonly nextCursor: string | null };
  readonly orderedAt: string | null;
}

async function list(query: string): Promise<List> {
  const { status, body } = await browser.ask("GET", path(query));
  expect(status).toBe(200);
  return body as unknown as List;
}

it("a sorted list is read page by page with a cursor, and shows each account with its stored values", async () => {
  const first = await list("?sort=-dailyDrawdown&limit=100");
  expect(first.pagination.total).toBe(2_345);
  expect(first.accounts[0]).toMatchObject({ accountNumber: "102344", stored: { dailyDrawdown: 6.25 } });
  expect(first.orderedAt).toBe("2026-01-01T10:43:00.000Z");
  const second = await list(`?sort=-dailyDrawdown&limit=100&cursor=${first.pagination.nextCursor ?? ""}`);
  expect(second.accounts[0]?.accountNumber).toBe("102244");
});

it("the list rejects a cursor of another order or server, a wrong filter or sort, and sorting of pending accounts by value", async () => {
  const { pagination } = await list("?sort=equity&limit=10");
  const cursor = pagination.nextCursor ?? "";
  const other = await harness.person();
  harness.standIns.accounts.set(other.serverId, ["100000"]);
  const elsewhere = await harness.signedIn(other);
  expect((await browser.ask("GET", path(`?sort=-equity&cursor=${cursor}`))).status).toBe(400);
  const foreign = `/servers/${other.serverId}/accounts?sort=equity&cursor=${cursor}`;
  expect((await elsewhere.ask("GET", foreign)).status).toBe(400);
  for (const query of ["?equityMin=a", "?equityMin=1.005", "?sort=password", "?status=pending&sort=equity"]) {
    expect((await browser.ask("GET", path(query))).status).toBe(400);
  }
  expect((await browser.ask("GET", path("?status=pending"))).status).toBe(200);
});

it("the list and the export of another organization's server are 404", async () => {
  const stranger = await harness.signedIn(await harness.person());
  expect((await stranger.ask("GET", path("?sort=equity"))).status).toBe(404);
  expect((await stranger.ask("GET", path(".csv"))).status).toBe(404);
});

it("an export has every matching account once, and the number of rows in a header", async () => {
  const answer = await browser.ask("GET", path(".csv?dailyDrawdownMin=1"));
  expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(answer.headers.get("x-total-rows")).toBe("2345");
  const rows = answer.text.trimEnd().split("\r\n");
  expect(rows[0]).toMatch(/^account number,name,state,currency,balance,equity,/);
  const numbers = rows.slice(1).map((row) => row.split(",")[0]);
  expect(numbers).toEqual(harness.standIns.accounts.get(person.serverId));
});

it("a person sees the equity of an account of their organization over an hour, a day or 30 days, and of no other account", async () => {
  const minutes = { hour: 60, day: 1_440, month: 43_200 } as const;
  for (const [range, length] of Object.entries(minutes)) {
    const { status, body } = await browser.ask("GET", path(`/100000/equity-history?range=${range}`));
    const { from, to, points } = body as { from: string; to: string; points: object[] };
    expect([status, (Date.parse(to) - Date.parse(from)) / 60_000, points.length]).toEqual([200, length, 1]);
    expect(Date.parse(to)).toBeGreaterThan(Date.now() - 60_000);
  }
  const asked = harness.standIns.asked.findLast((url) => url.includes("/equity-history"));
  expect(asked).toContain(`organizationId=${person.organizationId}`);
  expect((await browser.ask("GET", path("/100000/equity-history?range=year"))).status).toBe(400);
  expect((await browser.ask("GET", path("/99999999/equity-history"))).status).toBe(404);
  const stranger = await harness.signedIn(await harness.person());
  expect((await stranger.ask("GET", path("/100000/equity-history"))).status).toBe(404);
});
