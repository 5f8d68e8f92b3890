/** Tests tabs and new passwords of an account in a real browser, with all services of kapi. */
import { readFileSync } from "node:fs";

import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { ConsoleUser, startBrowser, WIDE } from "./console-user.ts";
import { checkPage } from "./page-check.ts";
import { openAccountAs, type Role } from "./people.ts";

const DAILY_LOSS = { id: "daily", type: "dailyLoss", limit: { percent: 50 }, basis: "equity", action: "notify" };

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;
let browser: Browser;
let user: ConsoleUser;
let number: string;

beforeAll(async () => {
  browser = await startBrowser();
  system = await startSystem();
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
}, INSTALL_DEADLINE_MS);
afterAll(async () => {
  await browser.close();
  await system.stop();
});
beforeEach(async () => {
  user = await ConsoleUser.at(browser, system.demo.consoleUrl);
  number = await client.openAccount(1_000);
});
afterEach(async () => {
  await user.page.unrouteAll({ behavior: "ignoreErrors" });
  await user.leave();
});

/** Opens the page of the account, as a person with the role. */
function openAs(role: Role): Promise<void> {
  return openAccountAs(user, system, number, role);
}

/** Chooses a tab of the account with the pointer. */
async function chooseTab(name: string): Promise<void> {
  await tabs().getByRole("link", { name, exact: true }).click();
  await user.page.getByRole("heading", { name, level: 2, exact: true }).waitFor();
  await user.settled();
}

const tabs = () => user.page.getByRole("navigation", { name: `Parts of account ${number}` });

/** Exports the shown list as CSV, and returns the lines of the file. */
async function exported(): Promise<string[]> {
  const download = user.page.waitForEvent("download");
  await user.button("Export CSV").click();
  return readFileSync(await (await download).path(), "utf8")
    .trimEnd()
    .split("\r\n");
}

describe("the tabs of an account", () => {
  it("show the records of the account, keep filters in the address, and export the records", async () => {
    await client.queue("PUT", `/accounts/${number}/risk-rules`, { rules: [DAILY_LOSS], requestId: "limits" });
    const open = await control.buy(number, "EURUSD", 0.02);
    const closed = await control.buy(number, "GBPUSD", 0.01);
    await control.close(number, closed);
    await openAs("owner");
    await user.button("Deposit").click();
    await user.page.getByLabel("Amount (USD)").fill("100");
    await user.button("Deposit 100.00 USD").click();
    await user.page.getByText("Deposit of 100.00 USD: done.", { exact: true }).waitFor();

    // The link under the actions opens the transaction of the deposit.
    await user.page.getByRole("link", { name: "Transaction", exact: true }).click();
    await user.page.getByText("1 transaction", { exact: true }).waitFor();
    await user.settled();
    await eventually(async () =>
      expect(await user.row("Deposit").innerText()).toMatch(/\+100\.00 USD[^]*1,\d+\.\d\d USD[^]*\(person\)/),
    );
    await user.button(/^Only command .* — show all$/).click();
    await user.page.getByLabel("Type").selectOption("Realized profit");
    await user.page.getByText("1 transaction", { exact: true }).waitFor();
    expect(user.page.url()).toContain("tab=transactions&type=realized_pnl");
    await user.page.reload();
    await user.page.getByText("1 transaction", { exact: true }).waitFor();
    expect(await user.page.getByLabel("Type").inputValue()).toBe("realized_pnl");
    const [heads = "", line = "", ...more] = await exported();
    expect(heads).toMatch(/^recorded,type,amount,currency,balance before,/);
    expect([line.split(",")[1], more]).toEqual(["realized_pnl", []]);
    await checkPage(user, "account-transactions");
    await user.page.setViewportSize(WIDE);

    await user
      .row("Realized profit")
      .getByRole("link", { name: `Position ${closed.slice(0, 8)}` })
      .click();
    await user.page.getByText("2 deals", { exact: true }).waitFor();
    expect(await exported()).toHaveLength(3);
    await checkPage(user, "account-deals");
    await user.page.setViewportSize(WIDE);

    await chooseTab("Positions");
    await user.page.getByText("1 open position", { exact: true }).waitFor();
    await user.page.getByText(/^live, measured/).waitFor();
    expect((await user.row(open.slice(0, 8)).innerText()).replaceAll(/\s+/g, " ")).toMatch(/EURUSD.* buy.* 0\.02 /);
    await checkPage(user, "account-positions");
    await user.page.setViewportSize(WIDE);
    // A position that is closed elsewhere disappears without a reload.
    await control.close(number, open);
    await user.page.getByText("This account has no open positions.").waitFor();
    await user.page.getByRole("link", { name: "Show closed ones too" }).click();
    await user.page.getByText("2 positions", { exact: true }).waitFor();

    await chooseTab("Orders");
    await user.page.getByLabel("Symbol").fill("GBPUSD");
    await user.page.keyboard.press("Enter");
    await eventually(async () => expect(await user.row("EURUSD").count()).toBe(0));
    expect(await user.row("GBPUSD").count()).toBe((await exported()).length - 1);
    await user.page.getByLabel("Symbol").fill("NONE");
    await user.page.keyboard.press("Enter");
    await user.page.getByText("No order matches.").waitFor();
    await user.button("Remove the filters").click();
    await user.row("EURUSD").first().waitFor();

    await chooseTab("Commands");
    await user.row("risk.set_rules").waitFor();
    expect(await user.row("finance.deposit").innerText()).toContain("100.00 USD");
    await chooseTab("Risk rules");
    await user.page.getByText(/^Daily loss 50 %/).waitFor();
    expect(user.complaints).toEqual([]);
  });

  it("are reached with the arrow keys, and a tab without records says that it has none", async () => {
    await client.queue("POST", `/accounts/${number}/password-reset`, { requestId: "reset" });
    await openAs("owner");
    await tabs().getByRole("link", { name: "Overview" }).focus();
    // ArrowLeft leads from the first tab to the last one, Home to the first, and End to the last.
    for (const key of ["ArrowLeft", "Home", "End", "Enter"]) await user.page.keyboard.press(key);
    await user.page.getByRole("heading", { name: "Audit", level: 2 }).waitFor();
    await eventually(async () => {
      await user.button("Refresh").click();
      await user.settled();
      expect(await user.row("Reset a trading password").count()).toBe(1);
    });
    await checkPage(user, "account-audit");
    await user.page.setViewportSize(WIDE);
    await tabs().getByRole("link", { name: "Audit" }).focus();
    for (const key of ["ArrowLeft", "Enter"]) await user.page.keyboard.press(key);
    await user.page.getByText("No risk rule of this account was breached.").waitFor();
    await checkPage(user, "account-breaches");
    await user.page.setViewportSize(WIDE);
    for (const key of ["ArrowLeft", "ArrowLeft", "Enter"]) await user.page.keyboard.press(key);
    await user.row("account.created").waitFor();
    await checkPage(user, "account-deliveries");
    await user.page.setViewportSize(WIDE);
    // An older page, whose events were deleted after 30 days.
    await user.page.goto(`${user.page.url()}&cursor=1`);
    await user.page.getByText("There are no older events.").waitFor();
    await chooseTab("Deals");
    await user.page.getByText("This account has no deals yet.").waitFor();
    expect(user.complaints).toEqual([]);
  });

  it("hide the audit log from the role finance, and say which role may see it", async () => {
    await openAs("finance");
    expect(await tabs().getByRole("link", { name: "Audit" }).count()).toBe(0);
    await user.open(`/accounts/${client.demo.serverId}/${number}?tab=audit`);
    await user.page.getByText("This needs the role owner.").waitFor();
    user.complaints.splice(0);
  });
});

it("the role read_only sees no action, and the role finance sees only deposit and withdrawal", async () => {
  const actions = user.page.getByRole("region", { name: "Actions" });
  await openAs("read_only");
  expect(await actions.count()).toBe(0);
  await user.button("Sign out").click();
  await openAs("finance");
  expect(await actions.getByRole("button").allInnerTexts()).toEqual(["Deposit", "Withdraw"]);
});

/** Resets a password, and waits for the outcome. */
async function reset(name: string, outcome: "done" | "failed"): Promise<void> {
  await user.button(name).click();
  await user.page.getByRole("dialog").getByRole("button", { name }).click();
  await user.page.getByText(`${name}: ${outcome}.`, { exact: true }).waitFor();
}

it("a new password is shown to the person who reset it, and is neither in the storage of the browser nor in a command", async () => {
  await openAs("owner");
  await reset("Reset investor password", "done");
  const password = await user.page.locator(".new-password code").innerText();
  expect(password.length).toBeGreaterThan(7);
  expect(await user.page.evaluate<string>("JSON.stringify({ ...sessionStorage, ...localStorage })")).not.toContain(
    password,
  );
  const { body } = await client.call("GET", client.server(`/commands?accountNumber=${number}`));
  expect(JSON.stringify(body)).not.toContain(password);
});

it("a reset that failed shows no new password, and offers none after a reload", async () => {
  await user.page.route("**/commands/*", async (route) => {
    const response = await route.fetch();
    const { command } = (await response.json()) as { command: object };
    await route.fulfill({ response, json: { command: { ...command, status: "failed", errorCode: "INTERNAL" } } });
  });
  await openAs("owner");
  await reset("Reset investor password", "failed");
  expect(await user.page.locator(".new-password").count()).toBe(0);
  await user.page.reload();
  await user.page.getByText("Reset investor password: failed.", { exact: true }).waitFor();
  expect(await user.button("Show the new password").count()).toBe(0);
});

it("the page says why a new password cannot be shown after a reload, and the next attempt shows the password", async () => {
  await openAs("owner");
  await reset("Reset password", "done");
  const password = await user.page.locator(".new-password code").innerText();
  await user.page.reload();
  const held = Promise.withResolvers<void>();
  await user.page.route("**/actions/reset-password", async (route) => {
    await held.promise;
    await route.fulfill({ status: 500, json: { error: "Internal error" } });
  });
  await user.button("Show the new password").click();
  expect(await user.button("Sending…").isDisabled()).toBe(true);
  held.resolve();
  const reason = user.page.getByText("Something went wrong on our side.");
  await reason.waitFor();
  await user.page.unroute("**/actions/reset-password");
  await user.button("Show the new password").click();
  await eventually(async () => expect(await user.page.locator(".new-password code").innerText()).toBe(password));
  expect(await reason.count()).toBe(0);
});

it("a message that was closed before a slow answer to “Show the new password” does not appear again", async () => {
  await openAs("owner");
  await reset("Reset password", "done");
  await user.page.reload();
  const held = Promise.withResolvers<void>();
  await user.page.route("**/actions/reset-password", async (route) => {
    await held.promise;
    await route.continue();
  });
  await user.button("Show the new password").click();
  await user.button("Close").click();
  const answer = user.page.waitForResponse("**/actions/reset-password");
  held.resolve();
  await (await answer).finished();
  // If the message had appeared again, the reload would show it: the browser tab keeps its intent.
  await user.page.reload();
  await user.fact("Balance").first().waitFor();
  expect(await user.page.getByText("Reset password:").count()).toBe(0);
});
