/**
 * Tests the documentation in a real browser: with and without JavaScript, by keyboard, on a small
 * screen.
 */
import type { AddressInfo } from "node:net";

import { createHttpServer, type FastifyInstance } from "@kapi/http";
import { deferred } from "@kapi/kernel";
import { createLogger, Health } from "@kapi/runtime";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";

import { registerDocsRoutes } from "../../services/gateway/src/inbound/http/docs-routes.ts";
import { overflowPixels } from "./accessibility.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { ConsoleUser, NARROW, startBrowser } from "./console-user.ts";
import { checkPage } from "./page-check.ts";

let browser: Browser;
let app: FastifyInstance;
let address: string;
let user: ConsoleUser;

beforeAll(async () => {
  browser = await startBrowser();
  const logger = createLogger({ service: "documentation", level: "error" });
  app = createHttpServer({ logger, health: new Health(), bodyErrors: "when-parsed" });
  registerDocsRoutes(app);
  await app.listen({ host: "127.0.0.1", port: 0 });
  address = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`;
}, INSTALL_DEADLINE_MS);

afterAll(async () => {
  await browser.close();
  await app.close();
});

beforeEach(async () => {
  user = await ConsoleUser.at(browser, address);
});

afterEach(async () => {
  expect(user.complaints).toEqual([]);
  await user.leave();
});

it.each([
  "docs",
  "docs/quickstart",
  "docs/errors",
  "docs/errors/INSUFFICIENT_FUNDS",
  "docs/changelog",
  "docs/live-metrics",
])("the page /%s is accessible and does not scroll sideways, in light and dark, wide and narrow", async (page) => {
  await user.open(`/${page}`);
  await checkPage(user, page.replaceAll("/", "-"));
  await user.page.setViewportSize(NARROW);
  expect(await overflowPixels(user.page)).toBe(0);
});

it("a language is chosen for all examples with the mouse or the keyboard, and stays chosen when other pages are opened", async () => {
  const { page } = user;
  await user.open("/docs/quickstart");
  await page.getByRole("tab", { name: "Python" }).first().click();
  expect(await page.getByRole("tab", { name: "Python", selected: true }).count()).toBeGreaterThan(2);
  expect(await page.getByText("import requests").isVisible()).toBe(true);
  await page.keyboard.press("ArrowLeft");
  expect(await page.getByText("import { Kapi }").first().isVisible()).toBe(true);
  await user.open("/docs/idempotency");
  await user.open("/docs/quickstart");
  expect(await page.getByRole("tab", { name: "TypeScript", selected: true }).count()).toBeGreaterThan(2);
});

it("a button copies the text of an example", async () => {
  const { page } = user;
  await user.open("/docs/idempotency");
  await page.locator("pre").first().hover();
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate<string>("navigator.clipboard.readText()")).toContain('{ key: "payout-4711" }');
});

it("the button says to select the example if the browser gives no clipboard, for example without https", async () => {
  const { page } = user;
  await page.addInitScript("Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined })");
  await user.open("/docs/idempotency");
  await page.locator("pre").first().hover();
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.getByRole("button", { name: "Select and copy" }).waitFor();
});

it("a page is found by the search, without a mouse", async () => {
  const { page } = user;
  await user.open("/docs");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("rotate secret");
  await page.getByRole("link", { name: /Rotate a secret/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/docs\/webhooks#rotate-a-secret$/);
});

it("the search does not say that nothing was found before it is loaded, and shows an error if it cannot be loaded", async () => {
  const { page } = user;
  const asked = deferred<() => Promise<void>>();
  await page.route("**/docs/search.json", (route) => asked.resolve(() => route.abort()));
  await user.open("/docs");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("rotate secret");
  const fail = await asked.promise;
  expect(await page.getByText("Nothing found").count()).toBe(0);
  await fail();
  await page.getByText("The search could not be loaded. Close it, and open it again.").waitFor();
  await page.unroute("**/docs/search.json");
  // The first press only empties the field.
  for (let press = 0; press < 2; press++) await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("rotate secret");
  await page.getByRole("link", { name: /Rotate a secret/ }).waitFor();
  expect(user.complaints.splice(0)).toEqual([expect.stringContaining("ERR_FAILED")]);
});

it("an error code is found with the keyboard alone", async () => {
  const { page } = user;
  await user.open("/docs/webhooks");
  await page.keyboard.press("/");
  await page.keyboard.type("insufficient_funds");
  await page.getByRole("link", { name: "INSUFFICIENT_FUNDS" }).waitFor();
  await page.keyboard.press("Enter");
  await user.heading("INSUFFICIENT_FUNDS").waitFor();
  await page.keyboard.press("/");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  expect(await page.getByRole("dialog").count()).toBe(0);
});

it("pages are reached by the navigation, and by the links to the next and the previous page", async () => {
  const { page } = user;
  await user.open("/docs");
  const pages = page.getByRole("navigation", { name: "Pages" });
  await pages.getByRole("link", { name: "Quickstart" }).click();
  await user.heading("Quickstart").waitFor();
  expect(await pages.locator("[aria-current=page]").innerText()).toBe("Quickstart");
  await page.locator("footer a[rel=next]").click();
  await user.heading(/command line/i).waitFor();
  await page.locator("footer a[rel=prev]").click();
  await user.heading("Quickstart").waitFor();
  const onThisPage = page.getByRole("complementary", { name: "On this page" });
  await onThisPage.getByRole("link", { name: "4. Move money" }).click();
  expect(new URL(page.url()).hash).toBe("#4-move-money");
});

it("an address without a page shows the navigation, with the status 404", async () => {
  const { page } = user;
  const answer = await page.goto(`${address}docs/nothing`);
  expect(answer?.status()).toBe(404);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Errors" }).waitFor();
  // Chromium reports the status 404 of a page as an error.
  expect(user.complaints.splice(0)).toEqual([expect.stringContaining("404")]);
});

it("without JavaScript, the quickstart shows the examples of every language", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${address}docs/quickstart`);
  for (const text of ["curl --fail-with-body", "import requests", "import { Kapi }"]) {
    expect(await page.getByText(text).first().isVisible(), text).toBe(true);
  }
  await context.close();
});
