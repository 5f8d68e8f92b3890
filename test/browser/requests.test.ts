/**
 * Tests parts of the console in a real browser, with all services of kapi: the request log, the
 * last use of a key, and the page of a webhook event with its deliveries.
 */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { WebhookReceiver } from "../e2e/webhook-receiver.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { type Cookies, ConsoleUser, startBrowser, WIDE } from "./console-user.ts";
import { createKey, CURL_LINE } from "./create-key.ts";
import { checkPage } from "./page-check.ts";
import { ownerSession } from "./people.ts";

/** Maximum time from a response until the request is in the log. */
const LOGGED_WITHIN_MS = 5_000;

let system: RunningSystem;
let browser: Browser;
let receiver: WebhookReceiver;
let session: Cookies;
let user: ConsoleUser;

beforeAll(async () => {
  [system, browser, receiver] = await Promise.all([startSystem(), startBrowser(), WebhookReceiver.start()]);
  session = await ownerSession(browser, system.demo);
}, INSTALL_DEADLINE_MS);

afterAll(async () => {
  await receiver.stop();
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

/** Creates a key that can only read the balance, and returns its `Authorization` header. */
async function newKey(name: string): Promise<string> {
  await user.open("/keys");
  await user.heading("Management keys").waitFor();
  const line = await createKey(user, name);
  await user.button("I have stored the key").click();
  return CURL_LINE.exec(line)?.[2] ?? "";
}

/** Repeats a request under one request id until the gateway knows the key. Returns this id. */
async function send(path: string, authorization: string): Promise<string> {
  const requestId = randomUUID();
  const headers = { authorization, "x-request-id": requestId };
  await eventually(async () => {
    const { status } = await fetch(`${system.demo.baseUrl}/api/v1/management${path}`, { headers });
    expect(status).not.toBe(401);
  });
  return requestId;
}

/** Reloads the list until it shows `text`. */
async function shownInList(text: string): Promise<void> {
  await eventually(
    async () => {
      await user.button("Refresh").click();
      await user.settled();
      expect(await user.row(text).count()).toBeGreaterThan(0);
    },
    { timeoutMs: LOGGED_WITHIN_MS, intervalMs: 250 },
  );
}

describe("the request log", () => {
  it("finds a refused request by its status within seconds, and the page of the request explains the error", async () => {
    const authorization = await newKey(`narrow ${randomUUID().slice(0, 8)}`);
    const requestId = await send(`/servers/${system.demo.serverId}/accounts`, authorization);
    await user.visit("Requests");
    await user.page.getByLabel("Status").selectOption("403 Not allowed");
    await shownInList(requestId);
    await user.row(requestId).getByRole("link", { name: "listTradingAccounts" }).click();
    await user.heading("Request").waitFor();
    expect(await user.fact("Status").innerText()).toContain("MISSING_SCOPE");
    expect(await user.fact("Credits charged").innerText()).toMatch(/^0\b/);
    const explained = user.page.getByRole("link", { name: "What this error means" });
    expect((await fetch((await explained.getAttribute("href")) ?? "")).status).toBe(200);
    await checkPage(user, "request");
    await user.page.setViewportSize(WIDE);
    await user.page.goBack();
    expect(await user.page.getByLabel("Status").inputValue()).toBe("403");
    await checkPage(user, "requests");
  });

  it("finds nothing for an unknown request id, and then offers to show all requests", async () => {
    await user.open("/requests?requestId=nothing");
    await user.page.getByText("No request matches.").waitFor();
    await user.page.getByRole("link", { name: "Show all requests" }).click();
    await user.row("GET").first().waitFor();
  });
});

describe("a leaked key", () => {
  it("shows when and from where it was last used, is revoked, and leads to its requests", async () => {
    const name = `leaked ${randomUUID().slice(0, 8)}`;
    const authorization = await newKey(name);
    const requestId = await send("/credits/balance", authorization);
    await eventually(
      async () => {
        await user.page.reload();
        await user.settled();
        expect(await user.row(name).innerText()).toContain("127.0.0.1");
      },
      { timeoutMs: LOGGED_WITHIN_MS, intervalMs: 250 },
    );
    await checkPage(user, "keys");
    await user.page.setViewportSize(WIDE);
    await user.button(`Revoke ${name}`).click();
    await user.page.getByRole("dialog").getByText("It was last used").waitFor();
    await user.button("Revoke key").click();
    await user.page.getByText(`${name} is revoked.`).waitFor();
    await user.page.getByRole("link", { name: "Show the requests of this key" }).click();
    await user.row(requestId).waitFor();
    expect(await user.row(requestId).count()).toBe(1);
  });
});

describe("a webhook that did not arrive", () => {
  it("is found by its event id, with each attempt, and is sent again from there", async () => {
    const client = new OutsideClient(system.demo);
    receiver.reply = { status: 500, body: "out of order" };
    const url = `${receiver.url}/out-of-order`;
    const { body } = await client.call("POST", "/webhooks", { body: { url, kinds: ["account.created"] } });
    const { endpoint } = body as { endpoint: { id: string } };
    const number = await client.openAccount(100);
    await eventually(() => expect(receiver.received.length).toBeGreaterThan(0));
    const eventId = receiver.received[0]?.headers["webhook-id"] ?? "";
    await user.open("/webhooks");
    await user.page.getByLabel("Find an event").fill(eventId);
    await user.button("Show event").click();
    await user.heading("Webhook event").waitFor();
    await user.page.getByText("out of order").first().waitFor();
    expect(await user.fact("Account").innerText()).toBe(number);
    await checkPage(user, "webhook-event");
    await user.page.setViewportSize(WIDE);
    receiver.reply = { status: 200, body: "thanks" };
    await user.button("Send again").click();
    await user.page.getByText("answered 200").waitFor();
    const link = user.page.getByRole("link", { name: url });
    expect(await link.getAttribute("href")).toContain(endpoint.id);
  });
});
