/** Tests the actions on an account in a real browser, with all services of kapi. */
import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { ConsoleUser, startBrowser } from "./console-user.ts";
import { checkPage } from "./page-check.ts";
import { openAccountAs, type Role } from "./people.ts";

const DEPOSITS = "**/actions/deposit";

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

async function deposits(): Promise<{ id: string }[]> {
  const { body } = await client.call("GET", client.server(`/accounts/${number}/transactions?type=deposit`));
  return (body as { transactions: { id: string }[] }).transactions;
}

async function fillDeposit(amount: string): Promise<void> {
  await user.button("Deposit").click();
  await user.page.getByLabel("Amount (USD)").fill(amount);
}

const done = (text: string) => user.page.getByText(text, { exact: true }).waitFor();

describe("a deposit", () => {
  it("shows the account, the amount and the resulting balance, then its final state, and changes the balance", async () => {
    await openAs("finance");
    await fillDeposit("0");
    await user.page.getByRole("dialog").getByRole("button", { name: "Deposit" }).click();
    await user.page
      .getByText("Enter an amount above 0, with at most two decimals and no thousands separators.")
      .waitFor();
    await user.page.getByLabel("Amount (USD)").fill("100.50");
    const dialog = user.page.getByRole("dialog");
    await dialog.getByRole("heading", { name: new RegExp(`Deposit to account ${number}`) }).waitFor();
    expect(await dialog.innerText()).toContain("1,100.50 USD");
    await checkPage(user, "deposit");
    await user.button("Deposit 100.50 USD").click();
    await done("Deposit of 100.50 USD: done.");
    await user.page.getByText("The balance is now 1,100.50 USD.").waitFor();
    await eventually(async () => expect(await user.fact("Balance").first().innerText()).toBe("1,100.50 USD"));
    const [booked] = await deposits();
    expect(booked).toMatchObject({ amount: 100.5, createdBy: { type: "user" } });
    await user.page.keyboard.press("Control+k");
    await user.page
      .getByRole("dialog")
      .getByRole("combobox")
      .fill(booked?.id ?? "");
    await user.page.getByText("deposit 100.50 USD").waitFor();
    await user.page.keyboard.press("Escape");
    await checkPage(user, "deposit-done");
    // The browser reports a 404 if the page reads the command before it is stored. The page reads
    // it again.
    expect(user.complaints.filter((text) => !/ 404 .*\/commands\/[0-9a-f-]{36}$/.test(text))).toEqual([]);
  });

  it("whose answers are lost is booked once: the page says that the outcome is unknown, and finds it after a reload", async () => {
    await openAs("owner");
    let attempts = 0;
    // The console gets every attempt; the browser gets no answer.
    await user.page.route(DEPOSITS, async (route) => {
      attempts += 1;
      await route.fetch();
      await route.abort();
    });
    // The command is found only after the reload.
    await user.page.route("**/commands**", (route) => route.abort());
    await fillDeposit("100");
    await user.button("Deposit 100.00 USD").click();
    await user.page.getByText("Do not start the same action again.").waitFor();
    await user.button("Send again").waitFor();
    expect(await user.button("Deposit").isDisabled()).toBe(true);
    // The first attempt, and two more.
    await eventually(() => expect(attempts).toBe(3));
    await user.page.getByRole("dialog").waitFor({ state: "detached" });
    await checkPage(user, "deposit-unknown");
    await user.page.unroute("**/commands**");
    await user.page.reload();
    await done("Deposit of 100.00 USD: done.");
    expect(await deposits()).toHaveLength(1);
  });

  it("whose first answer is lost is sent again, and is booked once, also after a double click", async () => {
    await openAs("owner");
    let isFirst = true;
    await user.page.route(DEPOSITS, async (route) => {
      const response = await route.fetch();
      if (isFirst) await route.abort();
      else await route.fulfill({ response });
      isFirst = false;
    });
    await fillDeposit("7");
    await user.button("Deposit 7.00 USD").dblclick();
    await done("Deposit of 7.00 USD: done.");
    expect(await deposits()).toHaveLength(1);
  });
});

it("an account is disabled and its positions are closed", async () => {
  await control.buy(number, "EURUSD", 0.01);
  await openAs("operator");
  await eventually(async () => {
    await user.button("Refresh").click();
    expect(await user.fact("Open positions").first().innerText()).toBe("1");
  });
  await user.button("Disable").click();
  await user.page.getByLabel("Close the open position, and cancel pending orders").check();
  await checkPage(user, "disable");
  await user.button("Disable and flatten").click();
  await done("Disable and flatten: done.");
  await user.page.getByText("The account is disabled. Positions closed: 1.").waitFor();
  await user.button("Enable").waitFor();
  expect(await user.button("Disable").count()).toBe(0);
});

it("the page reads the account again after an action, also if only the answer to a second attempt shows the success", async () => {
  await openAs("operator");
  let attempts = 0;
  await user.page.route("**/actions/disable", async (route) => {
    attempts += 1;
    const response = await route.fetch();
    if (attempts > 1) return route.fulfill({ response });
    const { command } = (await response.json()) as { command: { id: string } };
    await client.succeeded(command.id);
    await route.abort();
  });
  await user.page.route("**/commands**", (route) => route.abort());
  await user.button("Disable").click();
  await user.page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
  await done("Disable: done.");
  await user.button("Enable").waitFor();
  expect(attempts).toBe(2);
});

it("a failed action says why", async () => {
  await openAs("owner");
  await user.button("Withdraw").click();
  await user.page.getByLabel("Amount (USD)").fill("5000");
  await user.button("Withdraw 5,000.00 USD").click();
  await done("Withdraw of 5,000.00 USD: failed.");
  await user.page.getByText("The amount is above the balance or the free margin.").waitFor();
  await user.button("Close").click();
  expect(await user.page.getByText("Withdraw of").count()).toBe(0);
});

it("the page of a command reads the command until it is final, also after a failed read", async () => {
  const { body } = await client.deposit(number, { amount: 5, requestId: `read-${number}` });
  await client.succeeded(body.command.id);
  let reads = 0;
  await user.page.route("**/commands/*", async (route) => {
    reads += 1;
    if (reads === 2) return route.fulfill({ status: 500, json: { error: "Internal error" } });
    const response = await route.fetch();
    const { command } = (await response.json()) as { command: object };
    return route.fulfill({ response, json: { command: reads === 1 ? { ...command, status: "queued" } : command } });
  });
  await openAs("owner");
  await user.open(`/commands/${system.demo.serverId}/${body.command.id}`);
  await user.page.getByText("Could not load the command.").waitFor();
  await user.fact("State").getByText("succeeded").waitFor();
  expect(reads).toBe(3);
});

it("the page of commands finds a withdrawal by its amount, and shows the key that requested it", async () => {
  await client.withdraw(number, { amount: 500, requestId: "payout" });
  await client.withdraw(number, { amount: 5, requestId: "monthly-charge" });
  await openAs("owner");
  // Three steps: the operation, the amount, and the search; the list shows the key.
  await user.visit("Commands");
  await user.page.getByLabel("Operation").selectOption("finance.withdraw");
  await user.page.getByLabel("Amount (USD)").fill("500");
  await user.button("Search").click();
  const row = user.row("payout");
  await row.waitFor();
  await eventually(async () => expect(await row.innerText()).toMatch(/500\.00 USD[^]*\(key\)/));
  // Both were listed until the search was answered.
  await eventually(async () => expect(await user.row("monthly-charge").count()).toBe(0));
  await checkPage(user, "commands-found");
  await user.page.getByLabel("By", { exact: true }).selectOption({ label: "Me" });
  await user.page.getByText("No command matches.").waitFor();
});

const DAILY = {
  id: "daily-loss",
  type: "dailyLoss",
  limit: { percent: 4 },
  basis: "equity",
  timeZone: "UTC",
  dayStart: "00:00",
  action: "notify",
};
const dialogButton = (name: string) => user.page.getByRole("dialog").getByRole("button", { name, exact: true });

it("risk rules are set, checked field by field, deleted and audited, and a newer version is not overwritten", async () => {
  await openAs("operator");
  await user.page.getByRole("link", { name: "Risk rules", exact: true }).click();
  await user.button("Set rules").click();
  await user.button("Add daily loss").click();
  const limit = user.page.getByLabel("Loss", { exact: true });
  await limit.fill("5 %");
  await user.button("Set rules…").click();
  await user.page.getByText("Must be a number, such as 5 or 2.5.").waitFor();
  await limit.fill("101");
  await user.button("Set rules…").click();
  await dialogButton("Set rules").click();
  // The schema of the API rejects 101.
  await user.page.getByText("Too big: expected number to be <=100.").waitFor();
  await limit.fill("5,5");
  await user.page.getByLabel("Counted from").selectOption("higher");
  await user.page.getByLabel("A day starts at").fill("17:00");
  await user.page.getByLabel("Warn at percent of the limit").fill("80");
  await user.page.getByLabel("When the limit is reached, kapi").selectOption("close_only");
  await user.button("Add maximum loss").click();
  await user.page.getByLabel("Loss", { exact: true }).nth(1).fill("10");
  await checkPage(user, "risk-editor");
  await user.button("Set rules…").click();
  const dialog = user.page.getByRole("dialog");
  expect(await dialog.innerText()).toMatch(/New: Daily loss 5\.5 % of the higher of equity and balance at 17:00 UTC/);
  await checkPage(user, "risk-confirm");
  await dialogButton("Set rules").click();
  await done("Change of the risk rules: done.");
  await user.page.getByText("Daily loss 5.5 % of the higher of equity and balance at 17:00 UTC.").waitFor();
  await user.page.getByText(/^Version 1, active since/).waitFor();
  await checkPage(user, "risk-rules-done");

  // Somebody else changes the rules while the form is open.
  await user.button("Change rules").click();
  const accountPath = client.server(`/accounts/${number}`);
  const body = { rules: [DAILY], requestId: "backend" };
  const other = await client.call("PUT", `${accountPath}/risk-rules`, { body, idempotencyKey: `rules-${number}` });
  expect(other.status).toBe(202);
  await eventually(async () => {
    const { body: now } = await client.call("GET", `${accountPath}/risk-rules`);
    expect(now).toMatchObject({ riskRules: { version: 2 } });
  });
  await user.page.getByLabel("Loss", { exact: true }).first().fill("3");
  await user.button("Change rules…").click();
  await dialogButton("Change rules").click();
  await user.page
    .getByText("The rules were changed by somebody else: the current version is 2. Reload and try again.")
    .waitFor();
  await checkPage(user, "risk-conflict");
  await user.button("Read the newest version").click();
  await user.page.getByText("Daily loss 4 % of the equity at 00:00 UTC.").waitFor();

  await user.button("Delete rules").click();
  await checkPage(user, "risk-delete");
  await dialogButton("Delete rules").click();
  await done("Deletion of the risk rules: done.");
  await user.page.getByText("This account has no risk rules.").waitFor();

  await user.button("Sign out").click();
  await openAs("owner");
  await user.open("/audit");
  await user.heading("Audit log").waitFor();
  await user.page.getByLabel("Who", { exact: true }).selectOption({ label: `operator-${number}@example.com` });
  await user.page.getByLabel("What", { exact: true }).selectOption({ label: "Deleted risk rules" });
  const row = user.row("Deleted risk rules");
  await eventually(async () => {
    await user.button("Refresh").click();
    await user.settled();
    expect(await row.count()).toBe(1);
  });
  expect(await row.innerText()).toContain(`account ${number}`);
  await user.page.getByLabel("What", { exact: true }).selectOption({ label: "All" });
  await user.row("Changed risk rules").waitFor();
  // The other change was made with a key, so it is not an entry of this person.
  expect(await user.row("Changed risk rules").count()).toBe(1);
  await checkPage(user, "audit-of-actions");
});

it("a risk template is created, shows the accounts that it applies to, and is deleted with their rules", async () => {
  const name = `standard-${number}`;
  await openAs("operator");
  await user.visit("Risk templates");
  await user.button("New template").click();
  await user.page.getByLabel("Name of the template").fill(name);
  await user.button("Add maximum loss").click();
  await user.page.getByLabel("Loss", { exact: true }).fill("9");
  await user.button("Create template…").click();
  await dialogButton("Create template").click();
  await user.page.getByText("Choose a state, or enter how the name begins.").waitFor();
  await user.page.getByLabel("active", { exact: true }).check();
  await checkPage(user, "risk-template-new");
  await user.button("Create template…").click();
  await dialogButton("Create template").click();
  await done(`Change of the template ${name}: done.`);
  await checkPage(user, "risk-templates");
  await user.page.getByRole("link", { name, exact: true }).click();
  await user.heading(`Risk template ${name}`).waitFor();
  const account = user.row(number);
  await eventually(async () => {
    await user.button("Refresh").click();
    await user.settled();
    expect(await account.innerText()).toContain("applied");
  });
  await checkPage(user, "risk-template");
  await account.getByRole("link", { name: number }).click();
  await user.page.getByRole("link", { name: "Risk rules", exact: true }).click();
  await user.page.getByRole("link", { name, exact: true }).click();
  await user.button("Delete template").click();
  // No choice is preselected.
  expect(await dialogButton("Delete template").isDisabled()).toBe(true);
  await user.page.getByLabel(/^Remove the rules/).check();
  await checkPage(user, "risk-template-delete");
  await dialogButton("Delete template").click();
  await done(`Deletion of the template ${name}: done.`);
  await user.page.getByText("This server has no template of this name.").waitFor();
  await eventually(async () => {
    const { body } = await client.call("GET", client.server(`/accounts/${number}/risk-rules`));
    expect(body).toMatchObject({ riskRules: { rules: [] } });
  });
});
