/**
 * Tests the documentation in a real browser. The pages need no other service of kapi, so the
 * gateway's routes are served alone.
 */
import { createHttpServer, type FastifyInstance } from "@kapi/http";
import { createLogger, Health } from "@kapi/runtime";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { registerDocsRoutes } from "../../services/gateway/src/inbound/http/docs-routes.ts";
import { registerReferenceRoutes } from "../../services/gateway/src/inbound/http/reference.ts";
import { sidewaysPixels } from "./accessibility.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { ConsoleUser, startBrowser } from "./console-user.ts";
import { checkPage } from "./page-check.ts";

/** The narrowest telephone. */
const NARROWEST = { width: 360, height: 740 };

let app: FastifyInstance;
let url: string;
let browser: Browser;
let user: ConsoleUser;

beforeAll(async () => {
  app = createHttpServer({ logger: createLogger({ service: "docs", level: "error" }), health: new Health() });
  registerReferenceRoutes(app);
  registerDocsRoutes(app);
  [url, browser] = await Promise.all([app.listen({ host: "127.0.0.1", port: 0 }), startBrowser()]);
}, INSTALL_DEADLINE_MS);

afterAll(async () => {
  await browser.close();
  await app.close();
});

beforeEach(async () => {
  user = await ConsoleUser.at(browser, `${url}/`);
});

afterEach(async () => {
  // Among them are violations of the content security policy, and files of other origins.
  expect(user.complaints).toEqual([]);
  await user.leave();
});

describe("a reader", () => {
  it("goes through the pages by the navigation, and by the links to the next and the previous page", async () => {
    await user.open("/docs");
    const pages = user.page.getByRole("navigation", { name: "Pages" });
    await pages.getByRole("link", { name: "Quickstart" }).click();
    await user.heading("Quickstart").waitFor();
    expect(await pages.locator("[aria-current=page]").innerText()).toBe("Quickstart");
    await user.page.getByRole("link", { name: "Command line" }).last().click();
    await user.heading(/command line/i).waitFor();
    await user.page.locator("footer a[rel=prev]").click();
    await user.heading("Quickstart").waitFor();
    const onThisPage = user.page.getByRole("complementary", { name: "On this page" });
    await onThisPage.getByRole("link", { name: "4. Move money" }).click();
    expect(new URL(user.page.url()).hash).toBe("#4-move-money");
  });

  it("finds an error code with the keyboard alone", async () => {
    await user.open("/docs/webhooks");
    await user.page.keyboard.press("/");
    await user.page.keyboard.type("insufficient_funds");
    await user.page.getByRole("link", { name: "INSUFFICIENT_FUNDS" }).waitFor();
    await user.page.keyboard.press("Enter");
    await user.heading("INSUFFICIENT_FUNDS").waitFor();
    await user.page.keyboard.press("Control+k");
    await user.page.keyboard.type("deprecation");
    await user.page.getByRole("dialog").getByRole("link").first().waitFor();
    await user.page.keyboard.press("ArrowDown");
    expect(await user.page.evaluate("document.activeElement.tagName")).toBe("A");
    await user.page.keyboard.press("Escape");
    expect(await user.page.getByRole("dialog").count()).toBe(0);
  });

  it("sees the examples of every page in the language that they choose once", async () => {
    await user.open("/docs/quickstart");
    await user.page.getByRole("tab", { name: "curl" }).first().focus();
    await user.page.keyboard.press("ArrowRight");
    const shown = (): Promise<string[]> => user.page.locator("[role=tab][aria-selected=true]").allInnerTexts();
    expect(new Set(await shown())).toEqual(new Set(["TypeScript"]));
    expect(await user.page.getByText("new Kapi({").first().isVisible()).toBe(true);
    expect(await user.page.getByText("curl --fail-with-body").first().isVisible()).toBe(false);
    await user.page.reload();
    expect(new Set(await shown())).toEqual(new Set(["TypeScript"]));
  });

  it("copies exactly the code of an example", async () => {
    await user.open("/docs/quickstart");
    const example = user.page.locator(".code").filter({ hasText: "credits/balance" }).first();
    await example.hover();
    await example.getByRole("button", { name: "Copy" }).click();
    await example.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await user.page.evaluate<string>("navigator.clipboard.readText()");
    expect(copied).toMatch(/^curl --fail-with-body .*\n$/);
    expect(copied).toBe(await example.locator("code").textContent());
  });

  it("without scripts sees every example, each with its language, and no search", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${url}/docs/quickstart`);
    for (const text of ["curl --fail-with-body", "new Kapi({", "import requests"]) {
      expect(await page.getByText(text).first().isVisible(), text).toBe(true);
    }
    expect(await page.getByRole("heading", { name: "Python" }).first().isVisible()).toBe(true);
    expect(await page.getByRole("button").count()).toBe(0);
    await context.close();
  });

  it("gets a page with the navigation at an address without a page", async () => {
    const answer = await user.page.goto(`${url}/docs/nothing`);
    expect(answer?.status()).toBe(404);
    await user.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Errors" }).waitFor();
    // Chromium reports the status itself.
    expect(user.complaints.splice(0)).toEqual([expect.stringContaining("404")]);
  });
});

describe("a page", () => {
  it.each([
    ["overview", "/docs"],
    ["quickstart", "/docs/quickstart"],
    ["errors", "/docs/errors"],
    ["error", "/docs/errors/ACCOUNT_NOT_FOUND"],
    ["live-metrics", "/docs/live-metrics"],
  ])("is accessible in both colour schemes, and as wide as a telephone: %s", async (name, path) => {
    await user.open(path);
    await checkPage(user, `docs-${name}`);
    await user.page.setViewportSize(NARROWEST);
    expect(await sidewaysPixels(user.page)).toBe(0);
  });
});
