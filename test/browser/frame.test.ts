/** Tests what all pages of the console share: search, time zone, lists, keyboard, size. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";

import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { type Cookies, ConsoleUser, startBrowser } from "./console-user.ts";
import { createKey } from "./create-key.ts";
import { measureFirstPaint } from "./first-paint.ts";
import { checkPage } from "./page-check.ts";
import { ownerSession } from "./people.ts";

const SCRIPTS = path.resolve(import.meta.dirname, "../../services/console/page/dist/assets");
/** Maximum size of all compressed scripts together, in bytes. */
const MAX_SCRIPT_BYTES = 120_000;
/** Maximum time until a page's heading is on the screen, on a fast 3G line and a busy machine. */
const MAX_HEADING_MS = 2_000;
/** More than the links, buttons and fields of any page. */
const MAX_TABS = 250;

let system: RunningSystem;
let client: OutsideClient;
let browser: Browser;
let session: Cookies;
let user: ConsoleUser;

beforeAll(async () => {
  browser = await startBrowser();
  system = await startSystem();
  client = new OutsideClient(system.demo);
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
  await user.leave();
});

async function at(address: string): Promise<void> {
  await user.open(address);
  await user.button("Sign out").waitFor();
  await user.settled();
}

describe("the search", () => {
  const combobox = () => user.page.getByRole("combobox", { name: /^Account, command/ });
  const options = () => user.page.getByRole("listbox", { name: "Search results" }).getByRole("option");
  const find = async (text: string): Promise<void> => {
    await user.page.keyboard.press("Control+k");
    await combobox().fill(text);
    await options().first().waitFor();
  };

  it("finds an account by its number, a command by its id and its request id, and a key by its name, with the keyboard alone", async () => {
    const number = await client.openAccount(250);
    const { body } = await client.deposit(number, { amount: 5, description: "Found", requestId: `find-${number}` });
    await client.succeeded(body.command.id);
    await at("/keys");
    await createKey(user, `key of ${number}`);
    for (const [text, group, heading] of [
      [number, "Accounts", `Account ${number}`],
      [body.command.id, "Commands", "Command"],
      [`find-${number}`, "Commands", "Command"],
      [`key of ${number}`, "Keys", "Management keys"],
    ] as const) {
      await find(text);
      await user.page.getByRole("group", { name: group }).getByRole("option").first().waitFor();
      expect(await combobox().getAttribute("aria-activedescendant")).toBe(
        await options()
          .and(user.page.getByRole("option", { selected: true }))
          .getAttribute("id"),
      );
      await user.page.keyboard.press("Enter");
      await user.heading(heading).waitFor();
    }
    await user.page.getByRole("heading", { level: 1 }).click();
    await user.page.keyboard.press("/");
    const lastOpened = user.page.getByRole("group", { name: "Last opened" });
    await lastOpened.waitFor();
    expect(await lastOpened.getByRole("option").count()).toBe(3);
    await checkPage(user, "search");
    expect(user.complaints).toEqual([]);
  });

  it("shows the results of the other services while one service does not answer, and names that service", async () => {
    await at("/credits");
    const answer = {
      results: [{ kind: "key", keyId: "k", name: "backend", status: "active" }],
      unavailable: ["commands"],
    };
    await user.page.route("**/console/api/search*", (route) => route.fulfill({ json: answer }));
    await find("backend");
    await user.page.getByText("Not searched, so results may be missing: commands.").waitFor();
  });
});

describe("the time zone", () => {
  it("is named beside each time, is chosen once for all pages, and stays after a reload", async () => {
    await client.openAccount(1);
    await at("/accounts");
    const created = user.page.getByRole("row").nth(1).locator("time");
    expect(await created.innerText()).toMatch(/ GMT\+1$/);
    const zone = user.page.getByLabel("Time zone of all times");
    await zone.selectOption("UTC");
    expect(await created.innerText()).toMatch(/ UTC$/);
    await zone.selectOption("Other…");
    await user.page.getByLabel(/^Name of the zone/).fill("Asia/Kolkata");
    await user.button("Use this zone").click();
    await eventually(async () => expect(await created.innerText()).toMatch(/ GMT\+5:30$/));
    await user.page.reload();
    await user.visit("Commands");
    await user.settled();
    expect(await user.page.getByRole("row").nth(1).locator("time").first().innerText()).toMatch(/ GMT\+5:30$/);
    await user.page.getByLabel("Time", { exact: true }).selectOption("Today");
    await user.page.getByText(/^Since .*, 00:00 GMT\+5:30 \(Asia\/Kolkata\)$/).waitFor();
    expect(user.page.url()).toContain("range=today");
    await user.page.goBack();
    expect(await user.page.getByLabel("Time", { exact: true }).inputValue()).toBe("all");
    expect(user.complaints).toEqual([]);
  });
});

describe("a time that a person enters", () => {
  it("is a time of the chosen zone, and the label of the field names the zone", async () => {
    await at("/audit");
    await user.page.getByLabel("Time zone of all times").selectOption("UTC");
    await user.page.getByLabel("From (UTC)").fill("2026-11-21T10:15");
    await user.page.waitForURL((url) => url.searchParams.get("from") === "2026-11-21T10:15:00.000Z");
    await user.page.getByLabel("Before (UTC)").fill("2026-11-22T10:15");
    await user.page.waitForURL((url) => url.searchParams.get("to") === "2026-11-22T10:15:00.000Z");
    await user.page.reload();
    expect(await user.page.getByLabel("From (UTC)").inputValue()).toBe("2026-11-21T10:15");
    await user.visit("Keys");
    await user.button("Create a key").click();
    await user.page.getByLabel("Expires").selectOption("Custom date");
    await user.page.getByLabel("Expiration date (UTC)").waitFor();
    expect(user.complaints).toEqual([]);
  });
});

describe("a list", () => {
  const failWith = (status: number, code: string, error: string) =>
    user.page.route("**/console/api/servers/*/accounts*", (route) =>
      route.fulfill({ status, headers: { "x-error-code": code, "x-request-id": "request-7" }, json: { error } }),
    );

  it("that fails says what failed, shows the id of the request, and can be loaded again", async () => {
    await client.openAccount(1);
    await failWith(500, "INTERNAL", "Internal error");
    await at("/accounts");
    const problem = user.page.getByRole("alert");
    expect(await problem.innerText()).toMatch(/^Could not load the accounts\./);
    expect(await problem.locator("code").innerText()).toBe("request-7");
    await checkPage(user, "state-failing");
    await user.page.unroute("**/console/api/servers/*/accounts*");
    await user.button("Try again").click();
    await user.page.getByRole("table").waitFor();
  });

  it("that the role does not permit names the roles that may see it, and whom to ask", async () => {
    await failWith(403, "MISSING_PERMISSION", "Your role does not allow this: money:move");
    await at("/accounts");
    const text = await user.page.getByRole("alert").innerText();
    expect(text).toMatch(/^Your role does not allow this\. This needs the role owner or finance\. Ask an owner of /);
    await checkPage(user, "state-forbidden");
  });

  it("that is loading shows a placeholder, and an empty list says what to do next", async () => {
    let answer = (): void => undefined;
    await user.page.route("**/console/api/servers/*/accounts*", async (route) => {
      await new Promise<void>((resolve) => (answer = resolve));
      await route.continue();
    });
    await user.open("/accounts?search=nobody");
    await user.page.getByText("Loading the accounts…").waitFor({ state: "attached" });
    await eventually(async () => {
      const opacity = await user.page.evaluate<string>("getComputedStyle(document.querySelector('.skeleton')).opacity");
      expect(opacity).toBe("1");
    });
    answer();
    await user.page.getByText("No account matches.").waitFor();
    await user.page.getByRole("button", { name: "Show all accounts" }).click();
    await user.page.waitForURL(/accounts(\?server=[^&]+)?$/);
  });
});

it("the console shows only what the role of the person permits", async () => {
  await user.page.route("**/console/api/session", async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as object;
    await route.fulfill({ response: answer, json: { ...body, permissions: ["self", "read"] } });
  });
  await at("/keys");
  const pages = await user.page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts();
  expect(pages).toContain("Keys");
  expect(pages).not.toContain("Audit log");
  expect(await user.button("Create a key").count()).toBe(0);
});

it("the console can be used with the keyboard alone: Tab reaches the end of every page, and the focus is visible", async () => {
  const focused = `(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return "end";
    const { width, height } = element.getBoundingClientRect();
    const { outlineStyle } = getComputedStyle(element);
    return width > 0 && height > 0 && outlineStyle !== "none" ? "visible" : "invisible: " + element.outerHTML.slice(0, 200);
  })()`;
  await at("/credits");
  const links = user.page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  for (const name of await links.allInnerTexts()) {
    await at("/credits");
    await links.filter({ hasText: new RegExp(`^${name}$`) }).press("Enter");
    await user.settled();
    await user.page.evaluate("document.activeElement.blur()");
    const seen = new Set<string>();
    for (let tab = 0; tab < MAX_TABS && !seen.has("end"); tab += 1) {
      await user.page.keyboard.press("Tab");
      seen.add(await user.page.evaluate<string>(focused));
    }
    expect([name, ...seen].toSorted()).toEqual([name, "end", "visible"].toSorted());
  }
});

describe("the page", () => {
  it("has less than 120 KB of compressed JavaScript, all pages together", () => {
    const scripts = readdirSync(SCRIPTS).filter((name) => name.endsWith(".js"));
    const bytes = scripts.map((name) => gzipSync(readFileSync(path.join(SCRIPTS, name))).length);
    expect(bytes.reduce((sum, one) => sum + one)).toBeLessThan(MAX_SCRIPT_BYTES);
  });

  it.each(["overview", "accounts"] as const)(
    "of %s shows its heading within two seconds on a fast 3G line",
    async (name) => {
      const { headingMs, dataMs } = await measureFirstPaint(browser, system.demo.consoleUrl, session, name);
      process.stdout.write(`${name}: heading ${Math.round(headingMs)} ms, data ${Math.round(dataMs)} ms\n`);
      expect(headingMs).toBeLessThan(MAX_HEADING_MS);
    },
  );
});
