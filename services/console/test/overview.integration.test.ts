import { type ConsoleOverview, ConsoleOverview as Overview } from "@kapi/contracts";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";

import { type ConsoleHarness, type ConsoleUser, startConsoleHarness } from "./harness.ts";

let harness: ConsoleHarness;

beforeAll(async () => {
  harness = await startConsoleHarness();
});
afterEach(() => {
  harness.standIns.unanswered = null;
});
afterAll(() => harness.stop());

/**
 * Calls `prepare` with a person of a new organization; then returns the organization's overview.
 * The organization is new because the console caches overviews.
 */
async function overviewOf(prepare: (person: ConsoleUser) => void = () => undefined): Promise<ConsoleOverview> {
  const person = await harness.person({ credits: 100 });
  harness.standIns.accounts.set(person.serverId, ["100001"]);
  prepare(person);
  const { status, body } = await (await harness.signedIn(person)).ask("GET", "/overview");
  expect(status).toBe(200);
  return Overview.parse(body);
}

const PARTS = ["servers", "equity", "drawdowns", "limits", "breaches", "webhooks", "commands", "credits"] as const;

it("the overview shows every part for the organization's servers, with exact sums of money", async () => {
  let own: ConsoleUser | undefined;
  const overview = await overviewOf((person) => {
    own = person;
  });
  expect(PARTS.map((part) => overview[part].status)).toEqual(PARTS.map(() => "ok"));
  expect(overview).toMatchObject({
    serversLeftOut: 0,
    servers: { servers: [{ serverId: own?.serverId, accounts: { active: 1 }, answers: true }] },
    equity: { sums: [{ currency: "USD", equity: 100.1, change: -5.05 }] },
    drawdowns: { accounts: [{ serverId: own?.serverId, accountNumber: "100001", stored: { dailyDrawdown: 6.25 } }] },
    limits: { limits: [{ accountNumber: "100001", leftPercent: 10 }] },
    credits: { available: 100, perDay: 0, daysLeft: null },
  });
});

it.each([
  ["account", /\/servers\/(?:account-counts|checks)/, ["servers"]],
  ["metrics", /\/servers\/equity|\/ranked/, ["equity", "drawdowns"]],
  ["risk", /near-limits|breaches/, ["limits", "breaches"]],
  ["webhooks", /\/webhooks/, ["webhooks"]],
  ["command-status", /waiting-commands/, ["commands"]],
])("the overview shows all other parts while %s does not answer", async (_owner, unanswered, missing) => {
  harness.standIns.unanswered = unanswered;
  const overview = await overviewOf();
  expect(PARTS.filter((part) => overview[part].status === "unavailable")).toEqual(missing);
});

it("the overview reads the waiting commands only once for ten concurrent requests of one organization", async () => {
  const person = await harness.person();
  const browser = await harness.signedIn(person);
  harness.standIns.asked.splice(0);
  await Promise.all(Array.from({ length: 10 }, () => browser.ask("GET", "/overview")));
  expect(harness.standIns.asked.filter((path) => path.includes("waiting-commands"))).toHaveLength(1);
});

it("accounts near a limit are listed page by page; there and in the list of breaches, another organization's server is 404", async () => {
  const person = await harness.person();
  const browser = await harness.signedIn(person);
  harness.standIns.accounts.set(person.serverId, ["100001", "100002"]);
  const { body } = await browser.ask("GET", "/near-limits?limit=1&type=dailyLoss&within=1");
  expect(body).toMatchObject({ total: 2, limits: [{ accountNumber: "100001" }] });
  expect(body["nextCursor"]).toBe(`10~${person.serverId}~100001`);
  expect((await browser.ask("GET", `/near-limits?cursor=10~${person.serverId}~100001`)).status).toBe(200);
  for (const wrong of ["cursor=1", "within=x", "type=profitTarget"]) {
    expect((await browser.ask("GET", `/near-limits?${wrong}`)).status).toBe(400);
  }
  const stranger = await harness.signedIn(await harness.person());
  expect((await stranger.ask("GET", `/near-limits?serverId=${person.serverId}`)).status).toBe(404);
  const breaches = `/breaches?from=2026-11-27T00:00:00Z&serverId=${person.serverId}`;
  expect((await stranger.ask("GET", breaches)).status).toBe(404);
  expect((await browser.ask("GET", breaches)).body).toEqual({ total: 0, breaches: [], nextCursor: null });
  expect((await browser.ask("GET", "/breaches?from=2026-11-27T00:00:00Z&cursor=1")).status).toBe(400);
});
