/** Tests webhooks in the console: a real browser, all services of kapi, and a receiver. */
import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { type Received, verified, WebhookReceiver } from "../e2e/webhook-receiver.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { checkPage } from "./page-check.ts";
import { ownerSession } from "./people.ts";
import { type Cookies, ConsoleUser, startBrowser, WIDE } from "./console-user.ts";

/** Maximum time from the request that closes a position until the delivery of its event. */
const KNOWN_WITHIN_MS = 2_000;
const MARKUP = `<img src=x onerror="globalThis.harmed = true"> & more`;

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
  receiver.received.splice(0);
  receiver.reply = { status: 200, body: "thanks" };
  user = await ConsoleUser.at(browser, system.demo.consoleUrl);
  await user.takeCookies(session);
  await user.open("/webhooks");
  await user.heading("Webhooks").waitFor();
  await user.settled();
});

afterEach(async () => {
  await user.leave();
});

/** Adds an endpoint with its own path and opens its page. Returns the shown secret. */
async function addEndpoint(name: string, description = name): Promise<string> {
  const address = `${receiver.url}/${name}`;
  await user.button("Add an endpoint").click();
  await user.page.getByLabel("Address").fill(address);
  await user.page.getByLabel("Description").fill(description);
  await user.button("Add endpoint").click();
  const secret = await shownSecret();
  await user.row(description).getByRole("link", { name: address }).click();
  await user.heading("Webhook endpoint").waitFor();
  await user.settled();
  return secret;
}

/** Returns the shown secret, and confirms that it is stored. */
async function shownSecret(): Promise<string> {
  const shown = user.page.getByRole("region", { name: "The secret", exact: true });
  const secret = await shown.innerText();
  await user.button("I have stored the secret").click();
  await shown.waitFor({ state: "detached" });
  expect(await user.page.content()).not.toContain(secret);
  return secret;
}

/** Sends a test event and waits for it. Returns its delivery. */
async function sendTest() {
  const before = receiver.received.length;
  await user.button("Send test event").click();
  return eventually(() => receiver.received[before] ?? false);
}

/** The first read shows the deliveries in the state `delivering`, and the second read fails. */
async function failSecondRead(address: RegExp): Promise<void> {
  let reads = 0;
  await user.page.route(address, async (route) => {
    reads += 1;
    if (reads === 2) return route.fulfill({ status: 500, json: { error: "Internal error" } });
    if (reads > 2) return route.continue();
    const response = await route.fetch();
    const body = (await response.text()).replaceAll('"status":"succeeded"', '"status":"delivering"');
    return route.fulfill({ response, body });
  });
}

async function showDelivery(): Promise<void> {
  await user.button("Details of webhook.test").first().click();
  await user.page.getByRole("dialog").waitFor();
}

describe("a webhook endpoint", () => {
  it("added in the console gets its events, signed with the secret that was shown once", async () => {
    await checkPage(user, "webhooks-none");
    await user.page.setViewportSize(WIDE);
    const description = `<b>backend</b>`;
    await user.button("Add an endpoint").click();
    await checkPage(user, "webhooks-add");
    await user.page.setViewportSize(WIDE);
    await user.page.getByLabel(/^All except command results/).uncheck();
    await checkPage(user, "webhooks-add-kinds");
    await user.page.setViewportSize(WIDE);
    await user.button("Cancel").click();
    const secret = await addEndpoint("added", description);
    expect(secret).toMatch(/^whsec_/);
    const delivery = await sendTest();
    expect(verified(secret, delivery)).toMatchObject({ type: "webhook.test" });
    await user.row("webhook.test").getByText("succeeded").waitFor();
    await user.page.getByText("1 delivery", { exact: true }).waitFor();
    expect(await user.page.getByText(description, { exact: true }).count()).toBe(1);
    expect(user.complaints).toEqual([]);
  });

  it("added in the console gets the event of a closed position within two seconds", async () => {
    const secret = await addEndpoint("position-closed");
    const control = new TradingControl(system.demo);
    const number = await new OutsideClient(system.demo).openAccount(10_000);
    const position = await control.buy(number, "EURUSD", 0.1);
    const beganMs = Date.now();
    await control.close(number, position);
    const delivery = await eventually(
      () => receiver.ofType("position.closed").find(({ path }) => path.endsWith("/position-closed")) ?? false,
    );
    expect(delivery.atMs - beganMs).toBeLessThan(KNOWN_WITHIN_MS);
    const data = { id: position, accountNumber: number, openPositionCount: 0 };
    expect(verified(secret, delivery)).toMatchObject({ type: "position.closed", data });
    await eventually(async () => {
      await user.button("Refresh").click();
      await user.settled();
      expect(await user.row("position.closed").getByText("succeeded").count()).toBe(1);
    });
    expect(user.complaints).toEqual([]);
  });

  it("without an event type or with an invalid address is rejected, and the error is beside the field", async () => {
    await user.button("Add an endpoint").click();
    await user.page.getByLabel("Address").fill("ftp://receiver.example.com/");
    await user.page.getByLabel(/^All except command results/).uncheck();
    const kinds = user.page.getByRole("group", { name: "Event types" });
    for (const box of await kinds
      .getByRole("checkbox", { checked: true })
      .all()
      .then((boxes) => boxes.toReversed())) {
      await box.uncheck();
    }
    await user.button("Add endpoint").click();
    await kinds.getByText("Choose at least one event type.").waitFor();
    await kinds.getByRole("checkbox", { name: "position.closed" }).check();
    await user.button("Add endpoint").click();
    const address = user.page.getByLabel("Address");
    await eventually(async () => expect(await address.getAttribute("aria-invalid")).toBe("true"));
    expect(user.complaints.splice(0)).toEqual([expect.stringContaining("400")]);
    await user.page.keyboard.press("Escape");
    await user.page.getByRole("dialog").waitFor({ state: "detached" });
    expect(user.complaints).toEqual([]);
  });

  it("shows the reply of a failing receiver as text, and can resend the delivery", async () => {
    await addEndpoint("failing");
    receiver.reply = { status: 500, body: MARKUP };
    const failed = await sendTest();
    await user.row("webhook.test").getByText("pending").waitFor();
    await user.page.reload();
    await user.page.getByText(/^All attempts since .* have failed/).waitFor();
    await showDelivery();
    const dialog = user.page.getByRole("dialog");
    expect(await dialog.getByRole("region", { name: "Reply to attempt 1" }).innerText()).toBe(MARKUP);
    expect(await dialog.locator("img").count()).toBe(0);
    expect(await user.page.evaluate("globalThis.harmed")).toBeUndefined();
    await checkPage(user, "webhook-attempts");
    await user.page.setViewportSize(WIDE);
    receiver.reply = { status: 204, body: "" };
    await user.button("Resend").click();
    await user.row("webhook.test").getByText("succeeded").waitFor();
    expect(receiver.received.at(-1)?.headers["webhook-id"]).toBe(failed.headers["webhook-id"]);
    await checkPage(user, "webhook");
    await user.page.setViewportSize(WIDE);
    await user.page.reload();
    await user.row("webhook.test").waitFor();
    expect(await user.page.getByText(/^All attempts since/).count()).toBe(0);
    await user.page.getByLabel("State", { exact: true }).selectOption("Failed");
    await user.page.getByText("No delivery matches.").waitFor();
    expect(user.complaints).toEqual([]);
  });

  it("shows without a reload that a delivery has succeeded, also after a failed read, and so does the page of the event", async () => {
    await addEndpoint("read-again");
    await sendTest();
    await user.row("webhook.test").getByText("succeeded").waitFor();
    await failSecondRead(/\/deliveries\?/);
    await user.page.reload();
    await user.page.getByText("Could not load the deliveries.").waitFor();
    await user.row("webhook.test").getByText("succeeded").waitFor();
    await failSecondRead(/\/console\/api\/events\//);
    await user.row("webhook.test").getByRole("link").click();
    await user.page.getByText("Could not load the event.").waitFor();
    await user.fact("State").getByText("succeeded").waitFor();
  });

  it("can rotate its secret, then gets deliveries signed with both secrets, and can replay earlier events", async () => {
    const former = await addEndpoint("rotated");
    const number = await new OutsideClient(system.demo).openAccount(10);
    const created = (): readonly Received[] =>
      receiver
        .ofType("account.created")
        .filter(({ path, event }) => path.endsWith("/rotated") && event.data.accountNumber === number);
    await eventually(() => created().length === 1);
    await user.button("Rotate secret").click();
    await user.page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
    await user.page.getByText("For 24 hours each event is signed with both the previous secret").waitFor();
    await checkPage(user, "webhook-secret");
    await user.page.setViewportSize(WIDE);
    const secret = await shownSecret();
    expect(secret).not.toBe(former);
    await eventually(async () => {
      const delivery = await sendTest();
      verified(secret, delivery);
      verified(former, delivery);
    });
    await user.button("Replay").click();
    await checkPage(user, "webhook-replay");
    await user.page.setViewportSize(WIDE);
    await user.button("Replay events").click();
    await user.page.getByText(/^Replaying \d+ events?/).waitFor();
    await eventually(() => created().length === 2);
    const [first, again] = created();
    expect(again?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(again?.body).toBe(first?.body);
    expect(user.complaints).toEqual([]);
  });

  it("can be changed, disabled, enabled and deleted", async () => {
    await addEndpoint("changed");
    await user.button("Edit").click();
    await user.page.getByLabel("Description").fill("changed again");
    await user.page.getByLabel(/^All except command results/).uncheck();
    await user.page.getByRole("checkbox", { name: "command.failed" }).check();
    await user.button("Save").click();
    await user.fact("Description").getByText("changed again").waitFor();
    await user.fact("Event types").getByText("command.failed").waitFor();
    await user.button("Disable").click();
    await user.button("Disable endpoint").click();
    await user.page.getByText("This endpoint was disabled here or through the API.").waitFor();
    expect(await user.button("Send test event").isDisabled()).toBe(true);
    await checkPage(user, "webhook-disabled");
    await user.page.setViewportSize(WIDE);
    await user.button("Enable").click();
    await user.button("Enable endpoint").click();
    await user.fact("State").getByText("enabled").waitFor();
    await user.button("Delete").click();
    await user.button("Delete endpoint").click();
    await user.heading("Webhooks").waitFor();
    await user.settled();
    expect(await user.row("changed again").count()).toBe(0);
    await checkPage(user, "webhooks");
    await user.page.setViewportSize(WIDE);
    await user.visit("Audit log");
    await eventually(async () => {
      await user.button("Refresh").click();
      await user.settled();
      return (await user.row("Deleted a webhook").count()) > 0;
    });
    const deleted = user.row("Deleted a webhook").first();
    expect(await deleted.getByText(system.demo.consoleEmail, { exact: true }).count()).toBe(1);
    await checkPage(user, "audit-log");
    expect(user.complaints).toEqual([]);
  });
});
