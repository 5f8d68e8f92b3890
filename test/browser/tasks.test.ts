/**
 * Ten tasks of the people of an organization in a real browser, with all services of kapi. Each
 * needs at most five steps, prints its steps and seconds, and ends with a screenshot. A step is a
 * click, a key press, a choice or an entry of a person who is signed in and begins at the overview.
 * Not counted are: refreshing a page until it shows the expected data, and typing into the search.
 */
import { readFileSync } from "node:fs";

import { createDemo } from "@kapi/local";
import { eventually } from "@kapi/testkit";
import type { Browser, Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { WebhookReceiver } from "../e2e/webhook-receiver.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { ConsoleUser, startBrowser } from "./console-user.ts";
import { createKey } from "./create-key.ts";
import { ownerOf } from "./people.ts";

const MAX_STEPS = 5;
const FEW_CREDITS = 40;
const SHOWN_WITHIN_MS = 90_000;
const DAILY_LOSS = { id: "daily", type: "dailyLoss", limit: { percent: 5 }, basis: "equity", action: "notify" };

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;
let browser: Browser;
let receiver: WebhookReceiver;
let user: ConsoleUser;
let number: string;
let steps: number;

beforeAll(async () => {
  browser = await startBrowser();
  system = await startSystem();
  receiver = await WebhookReceiver.start();
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
}, INSTALL_DEADLINE_MS);
afterAll(async () => {
  await receiver.stop();
  await browser.close();
  await system.stop();
});
beforeEach(async () => {
  user = await ConsoleUser.at(browser, system.demo.consoleUrl);
  number = await client.openAccount(10_000);
});
afterEach(async () => {
  await user.leave();
});

/** Signs in; the overview is shown. */
async function begin(account = ownerOf(system.demo)) {
  await user.open("/");
  await user.signIn(account);
  await user.heading("Overview").waitFor();
  await user.settled();
  steps = 0;
}

async function step<T>(work: Promise<T>): Promise<T> {
  steps += 1;
  return work;
}

const click = (what: Locator): Promise<void> => step(what.click());
const visit = (name: string): Promise<void> => step(user.visit(name));
const link = (name: string | RegExp): Locator => user.page.getByRole("link", { name, exact: typeof name === "string" });
const tab = (name: string): Locator =>
  user.page.getByRole("navigation", { name: `Parts of account ${number}` }).getByRole("link", { name, exact: true });

/**
 * Finds the account with the search; its page is shown. Two steps: open the search, and choose the
 * account. The entry of its number is not counted.
 */
async function findAccount(): Promise<void> {
  await step(user.page.keyboard.press("Control+k"));
  await user.page.getByRole("combobox", { name: /^Account, command/ }).fill(number);
  const found = user.page
    .getByRole("listbox", { name: "Search results" })
    .getByRole("option")
    .filter({ hasText: number });
  await click(found.first());
  await user.heading(`Account ${number}`).waitFor();
  await user.settled();
}

/** Signs in the owner, and then runs a task. */
async function task(name: string, work: () => Promise<void>): Promise<void> {
  await begin();
  await taskAsIs(name, work);
}

/** Runs a task of a person who is signed in, and prints its steps and seconds. */
async function taskAsIs(name: string, work: () => Promise<void>): Promise<void> {
  const beganMs = performance.now();
  await work();
  await user.settled();
  const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1);
  process.stdout.write(`${name}: ${steps} steps, ${seconds} s\n`);
  await user.screenshot(`task-${name.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase()}`);
  expect(steps).toBeLessThanOrEqual(MAX_STEPS);
}

it("a person finds who withdrew 500, and by which key", async () => {
  await client.withdraw(number, { amount: 500, requestId: "payout" });
  await task("who withdrew 500", async () => {
    await visit("Commands");
    await step(user.page.getByLabel("Operation").selectOption("finance.withdraw"));
    await step(user.page.getByLabel("Amount (USD)").fill("500"));
    await click(user.button("Search"));
    await eventually(async () => expect(await user.row("payout").innerText()).toMatch(/500\.00 USD[^]*\(key\)/));
  });
});

it("a person finds the deals of an account that has lost money", async () => {
  const losing = await control.buy(number, "EURUSD", 1);
  await control.close(number, losing);
  await task("why is this account down", async () => {
    await findAccount();
    await click(tab("Deals"));
    await user.row("EURUSD").first().waitFor();
  });
});

it("a person deposits 100 and sees it booked", async () => {
  await task("deposit 100", async () => {
    await findAccount();
    await click(user.button("Deposit"));
    await step(user.page.getByLabel("Amount (USD)").fill("100"));
    await click(user.button("Deposit 100.00 USD"));
    await user.page.getByText("Deposit of 100.00 USD: done.").waitFor();
    await eventually(async () => expect(await user.page.getByRole("main").innerText()).toContain("10,100.00"));
  });
});

it("a person finds why a webhook did not arrive, and sends it again", async () => {
  receiver.reply = { status: 500, body: "out of order" };
  await client.call("POST", "/webhooks", { body: { url: `${receiver.url}/tasks`, kinds: ["transaction.recorded"] } });
  await client.deposit(number, { amount: 7, requestId: "hook" });
  await task("why did this webhook not arrive", async () => {
    await findAccount();
    await click(tab("Deliveries"));
    await eventually(
      async () => {
        await user.page.reload();
        await user.settled();
        expect(await user.row("transaction.recorded").count()).toBeGreaterThan(0);
      },
      { timeoutMs: SHOWN_WITHIN_MS, intervalMs: 500 },
    );
    await click(user.row("transaction.recorded").first().getByRole("link").first());
    await user.page.getByText("out of order").first().waitFor();
    receiver.reply = { status: 200, body: "thanks" };
    await click(user.button("Send again"));
    await user.page.getByText("answered 200").waitFor();
  });
});

it("a person finds that no account is within 1 % of its daily limit", async () => {
  await client.queue("PUT", `/accounts/${number}/risk-rules`, { rules: [DAILY_LOSS], requestId: "limits" });
  await control.buy(number, "EURUSD", 0.01);
  await task("within 1 % of the daily limit", async () => {
    await click(link("All limits"));
    await step(user.page.getByLabel("Limit", { exact: true }).selectOption("Daily loss"));
    await step(user.page.getByLabel("Distance").selectOption("Within 1 % of the limit"));
    await user.page.getByText("No account has a loss limit that matches").waitFor();
  });
});

it("a person revokes a leaked key", async () => {
  await begin();
  await user.visit("Keys");
  await createKey(user, "leaked");
  await user.button("I have stored the key").click();
  await user.button("Sign out").click();
  await task("revoke a leaked key", async () => {
    await visit("Keys");
    await click(user.button("Revoke leaked"));
    await click(user.button("Revoke key"));
    await user.row("leaked").getByText("revoked").waitFor();
  });
});

it("a person invites a colleague with read-only access", async () => {
  await task("read-only access for a colleague", async () => {
    await visit("People");
    await click(user.button("Invite a person"));
    await step(user.page.getByLabel("E-mail").fill(`colleague-${number}@example.com`));
    await step(user.page.getByLabel("Name").fill("A colleague"));
    // The role with the fewest permissions is already chosen.
    expect(await user.page.getByRole("dialog").getByRole("radio", { name: /^Read/ }).isChecked()).toBe(true);
    await click(user.page.getByRole("dialog").getByRole("button", { name: "Invite" }));
    await user.page.getByText("Invitation of A colleague").waitFor();
  });
});

it("a person exports the transactions of a month", async () => {
  await client.deposit(number, { amount: 11, requestId: "monthly" });
  await task("export a month of transactions", async () => {
    await findAccount();
    await click(tab("Transactions"));
    await step(user.page.getByLabel("Time", { exact: true }).selectOption("This month"));
    await user.settled();
    const download = user.page.waitForEvent("download");
    await click(user.button("Export CSV"));
    expect(readFileSync(await (await download).path(), "utf8")).toContain("11.00");
  });
});

it("a person finds the request that was refused because the credits were used up", async () => {
  const poor = await createDemo(system.stack, { name: "Few credits", credits: FEW_CREDITS, autoTraders: 0 });
  const poorClient = new OutsideClient(poor);
  await eventually(
    async () => expect((await poorClient.call("GET", poorClient.server("/accounts?limit=1"))).status).toBe(402),
    {
      timeoutMs: SHOWN_WITHIN_MS,
    },
  );
  await begin(ownerOf(poor));
  await taskAsIs("refused for credits", async () => {
    await visit("Requests");
    await step(user.page.getByLabel("Status").selectOption("402 Out of credits"));
    await eventually(
      async () => {
        await user.button("Refresh").click();
        await user.settled();
        expect(await user.row("402").count()).toBeGreaterThan(0);
      },
      { timeoutMs: SHOWN_WITHIN_MS, intervalMs: 500 },
    );
    await click(user.row("402").first().getByRole("link").first());
    await user.heading("Request").waitFor();
    expect(await user.fact("Status").innerText()).toContain("INSUFFICIENT_CREDITS");
  });
});

it("a person disables an account, and finds the change in the audit log", async () => {
  await task("disable an account and prove it", async () => {
    await findAccount();
    await click(user.button("Disable"));
    await click(user.page.getByRole("dialog").getByRole("button", { name: /^Disable/ }));
    await user.page
      .getByText(/: done\./)
      .first()
      .waitFor();
    await click(tab("Audit"));
    await eventually(
      async () => {
        await user.button("Refresh").click();
        await user.settled();
        expect(await user.page.getByRole("main").innerText()).toMatch(/disable/i);
      },
      { timeoutMs: SHOWN_WITHIN_MS, intervalMs: 500 },
    );
  });
});
