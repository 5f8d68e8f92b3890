/** The overview and the list of accounts in a real browser, with all services of kapi. */
import { readFileSync } from "node:fs";

import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { overflowPixels } from "./accessibility.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { type Cookies, ConsoleUser, startBrowser, WIDE } from "./console-user.ts";
import { checkPage } from "./page-check.ts";
import { ownerSession } from "./people.ts";
import { storeEquity } from "./stored-equity.ts";

const PHONE = { width: 360, height: 800 };
/** Number of accounts: more than a page shows. */
const ACCOUNTS = 55;
/** Longer than the interval at which the risk service stores the state of its rules. */
const LIMITS_SHOWN_WITHIN_MS = 30_000;
const DAILY_LOSS = { id: "daily", type: "dailyLoss", limit: { percent: 5 }, basis: "equity", action: "notify" };

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;
let browser: Browser;
let session: Cookies;
let user: ConsoleUser;
/** The numbers of the created accounts, in order. */
let opened: string[];

beforeAll(async () => {
  [system, browser] = await Promise.all([startSystem(), startBrowser()]);
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
  const numbers = await Promise.all(Array.from({ length: ACCOUNTS }, () => client.openAccount(10_000)));
  opened = numbers.toSorted((a, b) => a.localeCompare(b));
  session = await ownerSession(browser, system.demo);
}, INSTALL_DEADLINE_MS);

afterAll(async () => {
  await browser.close();
  await system.stop();
});

beforeEach(async () => {
  user = await ConsoleUser.at(browser, system.demo.consoleUrl);
  await user.takeCookies(session);
});

afterEach(async () => {
  expect(user.complaints).toEqual([]);
  await user.leave();
});

/** The numbers of the accounts in the table, in order. */
async function listed(): Promise<string[]> {
  await user.settled();
  return user.page.getByRole("rowheader").getByRole("link").allInnerTexts();
}

describe("the overview", () => {
  it("is the first page, shows what needs attention, and the number of active accounts leads to their list", async () => {
    await user.open("/");
    await user.heading("Overview").waitFor();
    await user.settled();
    const main = user.page.getByRole("main");
    expect(await user.fact("Servers that do not answer").innerText()).toBe("0");
    await main.getByRole("link", { name: /active/ }).click();
    await user.heading("Accounts").waitFor();
    await user.page.goBack();
    await user.heading("Overview").waitFor();
    await checkPage(user, "overview");
    await user.page.setViewportSize(PHONE);
    await user.screenshot("overview-phone");
    expect(await overflowPixels(user.page)).toBe(0);
  });

  it("has links to the breaches since 00:00 UTC", async () => {
    for (const link of [user.fact("Breaches today").getByRole("link"), user.page.getByText("All breaches")]) {
      await user.open("/");
      await link.click();
      await user.heading("Breaches").waitFor();
      // The browser's time zone is an hour ahead of UTC.
      await user.page.getByText(/^Since .*, 01:00 GMT\+1 \(Africa\/Lagos\)$/).waitFor();
      expect(await user.page.getByLabel("Time", { exact: true }).locator("option:checked").innerText()).toBe(
        "Today (UTC)",
      );
    }
  });

  it("is linked from the page of an unknown address", async () => {
    await user.open("/nowhere");
    await user.page.getByRole("link", { name: "Go to the overview" }).click();
    await user.heading("Overview").waitFor();
  });

  it("leads in three steps to the accounts within 1 % of their daily loss limit", async () => {
    const [number = ""] = opened;
    const body = { rules: [DAILY_LOSS], requestId: "limits" };
    await client.queue("PUT", `/accounts/${number}/risk-rules`, body);
    await control.buy(number, "EURUSD", 0.01);
    await eventually(
      async () => {
        await user.open("/");
        await user.page.getByRole("link", { name: "All limits" }).click();
        await user.page.getByLabel("Limit", { exact: true }).selectOption("Daily loss");
        await user.settled();
        expect(await user.row(number).count()).toBe(1);
      },
      { timeoutMs: LIMITS_SHOWN_WITHIN_MS },
    );
    await checkPage(user, "limits");
    await user.page.getByLabel("Distance").selectOption("Within 1 % of the limit");
    await user.page.getByText("No account has a loss limit that matches").waitFor();
    expect(user.page.url()).toMatch(/type=dailyLoss&within=1$/);
    await user.page.setViewportSize(WIDE);
    await user.visit("Breaches");
    await user.page.getByText("No rule was breached in this time.").waitFor();
  });
});

describe("the list of accounts", () => {
  it("sorts by a column head with the keyboard, and its address restores sort and page", async () => {
    await user.open("/accounts");
    await user.heading("Accounts").waitFor();
    await user.button("Number and name").focus();
    await user.page.keyboard.press("Enter");
    await user.page
      .getByRole("columnheader", { name: "Number and name", exact: true })
      .and(user.page.locator("[aria-sort=ascending]"))
      .waitFor();
    const firstPage = await listed();
    expect(firstPage).toEqual(firstPage.toSorted((a, b) => a.localeCompare(b)));
    await user.button("Next").click();
    await user.page.waitForURL(/cursor=/);
    const secondPage = await listed();
    expect(secondPage.some((number) => firstPage.includes(number))).toBe(false);
    expect([...firstPage, ...secondPage]).toEqual(expect.arrayContaining(opened));
    await user.page.reload();
    expect(await listed()).toEqual(secondPage);
    await user.button("Previous").click();
    await user.page.waitForURL((url) => !url.search.includes("cursor="));
    expect(await listed()).toEqual(firstPage);
  });

  it("filters by values and number, says what to do when nothing matches, and exports what is shown", async () => {
    const [number = ""] = opened;
    await user.open("/accounts");
    await user.page.getByLabel("Number or name").fill(number);
    await user.button("Search").click();
    await user.row(number).waitFor();
    const download = user.page.waitForEvent("download");
    await user.button("Export CSV").click();
    const text = readFileSync(await (await download).path(), "utf8");
    expect(text.split("\r\n").map((line) => line.split(",")[0])).toEqual(["account number", number, ""]);
    await user.button("More filters").click();
    await user.page.getByLabel("Equity from").fill("999999999");
    await user.button("Search").click();
    await user.page.getByText("No account matches.").waitFor();
    await user.button("Show all accounts").click();
    expect((await listed()).length).toBe(50);
  });

  it("has no serious accessibility problem, and no horizontal scrolling on a phone", async () => {
    await user.open("/accounts?sort=-equity&search=1000000");
    await user.heading("Accounts").waitFor();
    await checkPage(user, "accounts-sorted");
    await user.page.setViewportSize(PHONE);
    await user.screenshot("accounts-phone");
    expect(await overflowPixels(user.page)).toBe(0);
  });
});

describe("the page of an account", () => {
  const pressed = (name: string) => user.page.getByRole("button", { name, exact: true, pressed: true }).waitFor();
  const samples = async (): Promise<number> =>
    Number(await user.page.locator("[data-samples]").getAttribute("data-samples"));
  const chart = (range: string) =>
    user.page.getByRole("img", { name: new RegExp(`^Equity and balance .* in the ${range}$`) });

  it("continues 30 days of stored equity with live samples, keeps the range, and shows the same equity above the chart and in the details", async () => {
    const [, number = ""] = opened;
    const address = `/accounts/${system.demo.serverId}/${number}`;
    await storeEquity(system.stack.environment.postgresUrl, { serverId: system.demo.serverId, accountNumber: number });
    await control.buy(number, "EURUSD", 0.5);
    await user.open(address);
    await pressed("Hour");
    await chart("last hour").waitFor();
    await user.button("30 days").click();
    await chart("last 30 days").waitFor();
    expect(user.page.url()).toMatch(/equity\.range=month$/);
    await user.page.reload();
    await pressed("30 days");
    await chart("last 30 days").waitFor();
    expect(await user.fact("Lowest").innerText()).toBe("9,000.00 USD");
    expect(await user.fact("Largest drawdown").innerText()).toMatch(/^1,\d{3}\.\d\d USD \(1\d(\.\d+)? %\)$/);

    await eventually(async () => (await samples()) >= 2);
    const drawn = await chart("last 30 days").screenshot();
    const equities = await user.fact("Equity").allInnerTexts();
    expect([equities.length, new Set(equities).size]).toEqual([2, 1]);
    await control.movePrice("EURUSD", 4_000);
    await eventually(async () => {
      const now = await user.fact("Equity").allInnerTexts();
      expect(new Set([...now, equities[0]]).size).toBe(2);
      expect((await chart("last 30 days").screenshot()).equals(drawn)).toBe(false);
    });

    await user.page.getByText("Show as table").click();
    await user.page.getByRole("table", { name: "Stored equity of the last 30 days" }).waitFor();
    await user.page.getByText("Show as table").click();
    await checkPage(user, "equity-history");
    await user.page.setViewportSize(WIDE);
    await user.button("Day").click();
    await chart("last 24 hours").waitFor();
    await user.screenshot("equity-day");
  });

  it("shows the live equity and offers a retry while the history cannot be read, and says why a chart is empty", async () => {
    const [, , number = "", silent = ""] = opened;
    await control.buy(number, "EURUSD", 0.5);
    await user.page.route("**/equity-history?*", (route) => route.fulfill({ status: 500, json: {} }));
    await user.open(`/accounts/${system.demo.serverId}/${number}`);
    await user.page.getByText("Could not load the equity history.").waitFor();
    await chart("last hour").waitFor();
    expect(user.complaints.splice(0)).not.toEqual([]);
    await user.page.unrouteAll({ behavior: "ignoreErrors" });
    await user.button("Try again").click();
    await user.page.getByText("Could not load the equity history.").waitFor({ state: "detached" });
    const [to, from] = [new Date(), new Date(Date.now() - 3_600_000)].map((time) => time.toISOString());
    const empty = { from, to, now: to, before: null, points: [] };
    await user.page.route("**/equity-history?*", (route) => route.fulfill({ json: empty }));
    await user.page.route("**/live", (route) => route.abort());
    await user.open(`/accounts/${system.demo.serverId}/${silent}`);
    await user.page.getByText("The equity of this account did not change in the last 30 days.").waitFor();
    await user.screenshot("equity-none");
    expect(await user.fact("Equity").allInnerTexts()).toEqual(["10,000.00 USD", "10,000.00 USD"]);
    user.complaints.splice(0);
  });
});
