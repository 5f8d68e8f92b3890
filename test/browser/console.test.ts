/** Tests the console in a real browser, with all services of kapi. */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { checkPage } from "./page-check.ts";
import { sendCurl, CURL_LINE, createKey, REVOKED_WITHIN_MS } from "./create-key.ts";
import { type Account, type Cookies, ConsoleUser, startBrowser, WIDE } from "./console-user.ts";

/** Number of usage lines on one page. */
const LINES_A_PAGE = 20;

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;
let browser: Browser;
let account: Account;
let user: ConsoleUser;
/** The session cookies. Null before the first sign-in, and after a sign-out or password change. */
let session: Cookies | null = null;

beforeAll(async () => {
  browser = await startBrowser();
  system = await startSystem();
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
  account = { email: system.demo.consoleEmail, password: system.demo.consolePassword };
}, INSTALL_DEADLINE_MS);

afterAll(async () => {
  await browser.close();
  await system.stop();
});

beforeEach(async () => {
  user = await ConsoleUser.at(browser, system.demo.consoleUrl);
});

afterEach(async () => {
  await user.leave();
});

/** Opens an address with the session that the tests share. */
async function signedInAt(address: string): Promise<void> {
  if (session === null) {
    await user.open("/");
    await user.signIn(account);
    await user.button("Sign out").waitFor();
    session = await user.cookies();
    user.complaints.splice(0);
  }
  await user.takeCookies(session);
  await user.open(address);
  await user.button("Sign out").waitFor();
  await user.settled();
}

describe("a user", () => {
  it("gets the same error for a wrong password and an unknown e-mail, and can sign in with the right password", async () => {
    await user.open("/");
    const answers = [];
    for (const email of [account.email, "nobody@example.com"]) {
      await user.signIn({ email, password: "not the password" });
      const problem = user.page.getByRole("alert");
      answers.push(await problem.innerText());
      await user.page.reload();
    }
    expect(answers).toEqual(["E-mail or password is wrong.", "E-mail or password is wrong."]);
    await user.signIn(account);
    await user.button("Sign out").waitFor();
    await user.button("Sign out").click();
    await user.heading("Sign in").waitFor();
    await user.open("/keys");
    await user.heading("Sign in").waitFor();
  });

  it("returns to the same page after the session expires and the user signs in again", async () => {
    await signedInAt("/commands?status=failed");
    await user.loseSession();
    await user.button("Refresh").click();
    await user.page.getByText("Your session has ended.").waitFor();
    expect(user.complaints.splice(0)).toEqual([expect.stringContaining("401")]);
    await user.signIn(account);
    await user.heading("Commands").waitFor();
    expect(await user.page.getByLabel("State", { exact: true }).inputValue()).toBe("failed");
    expect(user.complaints).toEqual([]);
  });

  it("who signs out in one window is signed out in the other window too, although the other window sends no request", async () => {
    const number = await client.openAccount(100);
    await signedInAt(`/accounts/${client.demo.serverId}/${number}`);
    await user.page.getByText("Live", { exact: true }).waitFor();
    const other = await ConsoleUser.at(browser, system.demo.consoleUrl);
    await other.takeCookies(await user.cookies());
    await other.open("/");
    await other.button("Sign out").click();
    session = null;
    await user.page.getByText("Your session has ended.").waitFor();
    await other.leave();
  });

  it("can change the password, and only the new password works", async () => {
    await signedInAt("/profile");
    const password = randomUUID();
    await user.page.getByLabel("Current password").fill(`not ${account.password}`);
    await user.page.getByLabel("New password").fill(password);
    await user.button("Change password").click();
    await user.page.getByText("Is not your password.").waitFor();
    expect(user.complaints.splice(0)).toEqual([expect.stringContaining("400")]);
    await user.page.getByLabel("Current password").fill(account.password);
    await user.button("Change password").click();
    await user.page.getByText("Your password was changed.").waitFor();
    await user.visit("Credits");
    await user.button("Sign out").click();
    await user.signIn(account);
    await user.page.getByRole("alert").waitFor();
    account = { ...account, password };
    session = null;
    await user.signIn(account);
    await user.button("Sign out").waitFor();
  });
});

describe("a management key", () => {
  it("created in the console works with the shown curl command, for one credit, until it is revoked", async () => {
    await signedInAt("/credits");
    const before = await user.credits("Available");
    await user.visit("Keys");
    const name = `backend ${randomUUID().slice(0, 8)}`;
    const line = await createKey(user, name);
    expect(line).toMatch(CURL_LINE);
    const key = await user.page.getByRole("region", { name: "The new key", exact: true }).innerText();
    expect(line).toContain(`Management ${key}'`);
    await user.button("Copy the command").click();
    await user.page.getByText("Copied").waitFor();
    expect(await user.page.evaluate("navigator.clipboard.readText()")).toBe(line);
    await user.screenshot("new-key");

    const answer = await eventually(async () => {
      const given = await sendCurl(line);
      expect(given.status).toBe(200);
      return given;
    });
    await user.visit("Credits");
    const requestId = answer.headers.get("x-request-id") ?? "";
    await eventually(
      async () => {
        await user.button("Refresh").click();
        await user.settled();
        expect(await user.credits("Available")).toBe(before - 1);
        expect(await user.row(requestId).filter({ hasText: "getCreditBalance" }).count()).toBe(1);
      },
      { intervalMs: 250 },
    );

    await user.visit("Keys");
    await user.row(name).waitFor();
    expect(await user.page.content()).not.toContain(key.split(".")[2]);
    await user.button(`Revoke ${name}`).click();
    await user.button("Revoke key").click();
    await user.row(name).getByText("revoked").waitFor();
    await eventually(async () => (await sendCurl(line)).status === 401, { timeoutMs: REVOKED_WITHIN_MS });
    expect(user.complaints).toEqual([]);
  });

  it("stays shown until the person has stored it, also after another key was created", async () => {
    await signedInAt("/keys");
    const names = ["first of two", "second of two"].map((name) => `${name} ${randomUUID()}`);
    for (const name of names) await createKey(user, name);
    const [first, second] = names.map((name) => user.page.getByRole("heading", { name: `Your new key “${name}”` }));
    await second?.waitFor();
    await user.button("I have stored the key").first().click();
    await second?.waitFor({ state: "detached" });
    expect(await first?.isVisible()).toBe(true);
    expect(user.complaints).toEqual([]);
  });

  it("is not created without a scope, and the error is beside the scopes", async () => {
    await signedInAt("/keys");
    await user.button("Create a key").click();
    await user.page.getByLabel("Name", { exact: true }).fill("without a scope");
    await user.button("Create key").click();
    const scopes = user.page.getByRole("group", { name: "Scopes" });
    await scopes.getByText("Choose at least one scope.").waitFor();
    await user.button("Cancel").click();
    expect(await user.row("without a scope").count()).toBe(0);
  });
});

describe("the wallet", () => {
  it("is low below its threshold, and its usage lines are paged", async () => {
    // Lines reach the ledger after about a second.
    await eventually(async () => {
      const { body } = await client.call("GET", "/credits/usage?limit=1");
      return (body as { pagination: { total: number } }).pagination.total > LINES_A_PAGE;
    });
    await signedInAt("/credits");
    const threshold = user.page.getByLabel("Low-balance threshold");
    await threshold.fill("2000000");
    await user.button("Save").click();
    await user.page.getByText("The balance is low:").waitFor();
    await threshold.fill("0");
    await user.button("Save").click();
    await user.page.getByText("The balance is low:").waitFor({ state: "detached" });
    const first = await user.page.locator("tbody").last().innerText();
    await user.button("Older").click();
    await user.page.getByText("Page 2 of").waitFor();
    expect(await user.page.locator("tbody").last().innerText()).not.toBe(first);
    expect(user.complaints).toEqual([]);
  });
});

describe("an account", () => {
  it("shows live equity, and the browser sends no management key", async () => {
    const number = await client.openAccount(10_000);
    await control.buy(number, "EURUSD", 0.5);
    const authorized: string[] = [];
    const elsewhere: string[] = [];
    user.page.on("request", (request) => {
      if (request.headers()["authorization"] !== undefined) authorized.push(request.url());
      if (!request.url().startsWith(system.demo.consoleUrl)) elsewhere.push(request.url());
    });
    await signedInAt("/accounts");
    await user.page.getByLabel("Number or name").fill(number);
    await user.button("Search").click();
    await user.page.getByRole("link", { name: number }).click();
    const samples = user.page.locator("[data-samples]");
    const chart = user.page.getByRole("img", { name: /^Equity and balance/ });
    const count = async (): Promise<number> => Number(await samples.getAttribute("data-samples"));
    await eventually(async () => (await count()) >= 2);
    const equity = (): Promise<string> => user.fact("Equity").first().innerText();
    const first = { count: await count(), equity: await equity(), drawn: await chart.screenshot() };
    await control.movePrice("EURUSD", 200);
    await eventually(async () => {
      expect(await count()).toBeGreaterThan(first.count + 1);
      expect(await equity()).not.toBe(first.equity);
      expect((await chart.screenshot()).equals(first.drawn)).toBe(false);
    });
    expect(await user.fact("Open positions").first().innerText()).toBe("1");
    await user.screenshot("live-equity");
    expect([...authorized, ...elsewhere, ...user.complaints]).toEqual([]);
  });

  it("with markup in its name shows the name as text, and the browser runs no script of the name", async () => {
    const accountName = `<img src=x onerror="globalThis.harmed = true">`;
    const body = { accountName, initialBalance: 100, leverage: 100, requestId: "markup" };
    const created = await client.createAccount(body);
    const number = String((await client.succeeded(created.body.command.id)).result?.["accountNumber"]);
    await signedInAt("/accounts");
    await user.row(number).getByText(accountName).waitFor();
    await user.page.getByRole("link", { name: number }).click();
    await user.page.getByText(accountName).waitFor();
    await user.visit("Keys");
    await createKey(user, accountName);
    await user.row(accountName).waitFor();
    expect(await user.page.locator("main img").count()).toBe(0);
    expect(await user.page.evaluate("globalThis.harmed")).toBeUndefined();
    expect(user.complaints).toEqual([]);
  });
});

describe("a command", () => {
  it("requested over the API is listed with its state, and shows its payload and result without passwords", async () => {
    const requestId = `request-${randomUUID()}`;
    const password = `Secret-${randomUUID()}`;
    const body = { accountName: "Of a command", initialBalance: 12.5, leverage: 50, requestId, password };
    const created = await client.createAccount(body);
    const { result } = await client.succeeded(created.body.command.id);
    await signedInAt("/commands");
    await user.page.getByLabel("State", { exact: true }).selectOption("Succeeded");
    await user.row(requestId).getByRole("link", { name: "account.create" }).click();
    const payload = JSON.parse(await user.page.getByRole("region", { name: "Payload" }).innerText()) as object;
    expect(payload).toMatchObject({ accountName: "Of a command", initialBalance: 12.5, leverage: 50 });
    const shown = JSON.parse(await user.page.getByRole("region", { name: "Result" }).innerText()) as object;
    expect(shown).toEqual(result);
    expect(await user.page.content()).not.toContain(password);
    expect(user.complaints).toEqual([]);
  });
});

describe("a server", () => {
  const create = async (): Promise<number> => {
    const body = { accountName: "Switched", initialBalance: 1, leverage: 100, requestId: "switched" };
    return (await client.createAccount(body)).status;
  };

  it("disabled in the console rejects new accounts until it is enabled again", async () => {
    await signedInAt("/servers");
    await user.button(/^Disable /).click();
    await user.button("Disable server").click();
    await user.button(/^Enable /).waitFor();
    await eventually(async () => expect(await create()).toBe(409));
    await user.button(/^Enable /).click();
    await user.button("Enable server").click();
    await user.button(/^Disable /).waitFor();
    await eventually(async () => expect(await create()).toBe(202));
    expect(user.complaints).toEqual([]);
  });

  it("accepts another configuration, and shows an error for an invalid leverage", async () => {
    await signedInAt("/servers");
    await user.button(/^Edit configuration/).click();
    await user.page.getByLabel("Supported leverage").fill("10, 50, fifty");
    await user.button("Save").click();
    await user.page.getByText("“fifty” is not a whole number from 1 to 10000.").waitFor();
    await user.page.getByLabel("Supported leverage").fill("10, 50, 100");
    await user.page.getByLabel("Default leverage").selectOption("50");
    await user.button("Save").click();
    await eventually(async () => expect(await user.fact("Default leverage").innerText()).toBe("50"));
    const { body } = await client.call<{ server: object }>("GET", client.server("/configuration"));
    expect(body.server).toMatchObject({ supportedLeverage: [10, 50, 100], defaultLeverage: 50 });
    expect(user.complaints).toEqual([]);
  });
});

describe("a user without a mouse", () => {
  // Polls: the page moves the focus only after rendering, when its content is already visible.
  const focusIsOn = (what: string, value: string): Promise<void> =>
    eventually(async () => expect(await user.page.evaluate<string>(`document.activeElement.${what}`)).toBe(value));

  it("can skip the navigation, lands on the heading of an opened page, and closes a dialog with Escape", async () => {
    await user.reportCloseLate();
    await signedInAt("/credits");
    await user.page.reload();
    await user.button("Sign out").waitFor();
    await user.page.keyboard.press("Tab");
    await focusIsOn("textContent", "Skip to content");
    await user.page.keyboard.press("Enter");
    await focusIsOn("id", "page");
    await user.visit("Keys");
    await focusIsOn("textContent", "Management keys");
    await user.page.keyboard.press("Tab");
    await user.page.keyboard.press("Enter");
    await user.page.getByRole("dialog").waitFor();
    await focusIsOn("tagName", "INPUT");
    for (const close of [() => user.page.keyboard.press("Escape"), () => user.button("Cancel").press("Enter")]) {
      await close();
      await user.page.getByRole("dialog").waitFor({ state: "detached" });
      await focusIsOn("textContent", "Create a key");
      await user.page.keyboard.press("Enter");
      await user.page.getByRole("dialog").waitFor();
    }
  });
});

describe("a page", () => {
  it("has no serious accessibility problem and no horizontal scrolling: before the sign-in", async () => {
    await user.open("/");
    await user.heading("Sign in").waitFor();
    await checkPage(user, "sign-in");
  });

  it.each([
    ["credits", "/credits"],
    ["keys", "/keys"],
    ["servers", "/servers"],
    ["accounts", "/accounts"],
    ["accounts-none", "/accounts?search=nobody"],
    ["commands", "/commands"],
    ["profile", "/profile"],
    ["not-found", "/nowhere"],
  ])("has no serious accessibility problem and no horizontal scrolling: %s", async (name, address) => {
    await signedInAt(address);
    await checkPage(user, name);
    expect(user.complaints).toEqual([]);
  });

  it("has no serious accessibility problem and no horizontal scrolling: an account and a command", async () => {
    const number = await client.openAccount(2_500);
    const { body } = await client.deposit(number, { amount: 99.5, description: "Look", requestId: "look" });
    await client.succeeded(body.command.id);
    await signedInAt(`/accounts/${client.demo.serverId}/${number}`);
    await checkPage(user, "account");
    await user.open(`/commands/${client.demo.serverId}/${body.command.id}`);
    await user.heading("Command").waitFor();
    await checkPage(user, "command");
  });

  it("has no serious accessibility problem and no horizontal scrolling: with a dialog open", async () => {
    await signedInAt("/keys");
    await user.button("Create a key").click();
    await checkPage(user, "make-a-key");
    await user.page.setViewportSize(WIDE);
    await user.open("/servers");
    await user.button(/^Edit configuration/).click();
    await checkPage(user, "configuration");
  });
});
