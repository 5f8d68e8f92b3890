/** Tests webhooks in the console: a real browser, all services of kapi, and a receiver. */
import { eventually } from "@kapi/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { type Received, verified, WebhookReceiver } from "../e2e/webhook-receiver.ts";
import { INSTALL_DEADLINE_MS } from "./chromium.ts";
import { look } from "./look.ts";
import { type Cookies, Person, startBrowser, WIDE } from "./person.ts";

/** Maximum time from the request that closes a position until its delivery. */
const KNOWN_WITHIN_MS = 2_000;
const MARKUP = `<img src=x onerror="globalThis.harmed = true"> & more`;

let system: RunningSystem;
let browser: Browser;
let receiver: WebhookReceiver;
let session: Cookies;
let person: Person;

beforeAll(async () => {
  [system, browser, receiver] = await Promise.all([startSystem(), startBrowser(), WebhookReceiver.start()]);
  const { consoleUrl, consoleEmail, consolePassword } = system.demo;
  const first = await Person.at(browser, consoleUrl);
  await first.open("/");
  await first.signIn({ email: consoleEmail, password: consolePassword });
  await first.heading("Credits").waitFor();
  session = await first.cookies();
  await first.leave();
}, INSTALL_DEADLINE_MS);

afterAll(async () => {
  await receiver.stop();
  await browser.close();
  await system.stop();
});

beforeEach(async () => {
  receiver.received.splice(0);
  receiver.reply = { status: 200, body: "thanks" };
  person = await Person.at(browser, system.demo.consoleUrl);
  await person.takeCookies(session);
  await person.open("/webhooks");
  await person.heading("Webhooks").waitFor();
  await person.settled();
});

afterEach(async () => {
  await person.leave();
});

/** Adds an endpoint with its own path and opens its page. Returns the shown secret. */
async function addEndpoint(name: string, description = name): Promise<string> {
  const address = `${receiver.url}/${name}`;
  await person.button("Add an endpoint").click();
  await person.page.getByLabel("Address").fill(address);
  await person.page.getByLabel("Description").fill(description);
  await person.button("Add endpoint").click();
  const secret = await shownSecret();
  await person.row(description).getByRole("link", { name: address }).click();
  await person.heading("Webhook endpoint").waitFor();
  await person.settled();
  return secret;
}

/** Returns the shown secret, and confirms that it is stored. */
async function shownSecret(): Promise<string> {
  const shown = person.page.getByRole("region", { name: "The secret", exact: true });
  const secret = await shown.innerText();
  await person.button("I have stored the secret").click();
  await shown.waitFor({ state: "detached" });
  expect(await person.page.content()).not.toContain(secret);
  return secret;
}

/** Sends a test event and waits for it. Returns its delivery. */
async function sendTest() {
  const before = receiver.received.length;
  await person.button("Send test event").click();
  return eventually(() => receiver.received[before] ?? false);
}

async function showDelivery(): Promise<void> {
  await person.button("Details of webhook.test").first().click();
  await person.page.getByRole("dialog").waitFor();
}

describe("a webhook endpoint", () => {
  it("added in the console gets its events, signed with the secret that was shown once", async () => {
    await look(person, "webhooks-none");
    await person.page.setViewportSize(WIDE);
    const description = `<b>backend</b>`;
    await person.button("Add an endpoint").click();
    await look(person, "webhooks-add");
    await person.page.setViewportSize(WIDE);
    await person.page.getByLabel(/^All except command results/).uncheck();
    await look(person, "webhooks-add-kinds");
    await person.page.setViewportSize(WIDE);
    await person.button("Cancel").click();
    const secret = await addEndpoint("added", description);
    expect(secret).toMatch(/^whsec_/);
    const delivery = await sendTest();
    expect(verified(secret, delivery)).toMatchObject({ type: "webhook.test" });
    await person.row("webhook.test").getByText("succeeded").waitFor();
    await person.page.getByText("1 delivery", { exact: true }).waitFor();
    expect(await person.page.getByText(description, { exact: true }).count()).toBe(1);
    expect(person.complaints).toEqual([]);
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
      await person.button("Refresh").click();
      await person.settled();
      expect(await person.row("position.closed").getByText("succeeded").count()).toBe(1);
    });
    expect(person.complaints).toEqual([]);
  });

  it("without an event type or with an invalid address is not added, and the error is beside the field", async () => {
    await person.button("Add an endpoint").click();
    await person.page.getByLabel("Address").fill("ftp://receiver.example.com/");
    await person.page.getByLabel(/^All except command results/).uncheck();
    const kinds = person.page.getByRole("group", { name: "Event types" });
    for (const box of await kinds
      .getByRole("checkbox", { checked: true })
      .all()
      .then((boxes) => boxes.toReversed())) {
      await box.uncheck();
    }
    await person.button("Add endpoint").click();
    await kinds.getByText("Choose at least one event type.").waitFor();
    await kinds.getByRole("checkbox", { name: "position.closed" }).check();
    await person.button("Add endpoint").click();
    const address = person.page.getByLabel("Address");
    await eventually(async () => expect(await address.getAttribute("aria-invalid")).toBe("true"));
    expect(person.complaints.splice(0)).toEqual([expect.stringContaining("400")]);
    await person.page.keyboard.press("Escape");
    await person.page.getByRole("dialog").waitFor({ state: "detached" });
    expect(person.complaints).toEqual([]);
  });

  it("shows the reply of a failing receiver as text, and can resend the delivery", async () => {
    await addEndpoint("failing");
    receiver.reply = { status: 500, body: MARKUP };
    const failed = await sendTest();
    await person.row("webhook.test").getByText("pending").waitFor();
    await person.page.reload();
    await person.page.getByText(/^All attempts since .* have failed/).waitFor();
    await showDelivery();
    const dialog = person.page.getByRole("dialog");
    expect(await dialog.getByRole("region", { name: "Reply to attempt 1" }).innerText()).toBe(MARKUP);
    expect(await dialog.locator("img").count()).toBe(0);
    expect(await person.page.evaluate("globalThis.harmed")).toBeUndefined();
    await look(person, "webhook-attempts");
    await person.page.setViewportSize(WIDE);
    receiver.reply = { status: 204, body: "" };
    await person.button("Resend").click();
    await person.row("webhook.test").getByText("succeeded").waitFor();
    expect(receiver.received.at(-1)?.headers["webhook-id"]).toBe(failed.headers["webhook-id"]);
    await look(person, "webhook");
    await person.page.setViewportSize(WIDE);
    await person.page.reload();
    await person.row("webhook.test").waitFor();
    expect(await person.page.getByText(/^All attempts since/).count()).toBe(0);
    await person.page.getByLabel("State", { exact: true }).selectOption("Failed");
    await person.page.getByText("No delivery matches.").waitFor();
    expect(person.complaints).toEqual([]);
  });

  it("can rotate its secret while both secrets sign, and can replay earlier events", async () => {
    const former = await addEndpoint("rotated");
    const number = await new OutsideClient(system.demo).openAccount(10);
    const created = (): readonly Received[] =>
      receiver
        .ofType("account.created")
        .filter(({ path, event }) => path.endsWith("/rotated") && event.data.accountNumber === number);
    await eventually(() => created().length === 1);
    await person.button("Rotate secret").click();
    await person.page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
    await person.page.getByText("For 24 hours each event is signed with both the former").waitFor();
    await look(person, "webhook-secret");
    await person.page.setViewportSize(WIDE);
    const secret = await shownSecret();
    expect(secret).not.toBe(former);
    await eventually(async () => {
      const delivery = await sendTest();
      verified(secret, delivery);
      verified(former, delivery);
    });
    await person.button("Replay").click();
    await look(person, "webhook-replay");
    await person.page.setViewportSize(WIDE);
    await person.button("Replay events").click();
    await person.page.getByText(/^Replaying \d+ events/).waitFor();
    await eventually(() => created().length === 2);
    const [first, again] = created();
    expect(again?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(again?.body).toBe(first?.body);
    expect(person.complaints).toEqual([]);
  });

  it("can be changed, disabled, enabled and deleted", async () => {
    await addEndpoint("changed");
    await person.button("Edit").click();
    await person.page.getByLabel("Description").fill("changed again");
    await person.page.getByLabel(/^All except command results/).uncheck();
    await person.page.getByRole("checkbox", { name: "command.failed" }).check();
    await person.button("Save").click();
    await person.fact("Description").getByText("changed again").waitFor();
    await person.fact("Event types").getByText("command.failed").waitFor();
    await person.button("Disable").click();
    await person.button("Disable endpoint").click();
    await person.page.getByText("This endpoint was disabled here or through the API.").waitFor();
    expect(await person.button("Send test event").isDisabled()).toBe(true);
    await look(person, "webhook-disabled");
    await person.page.setViewportSize(WIDE);
    await person.button("Enable").click();
    await person.button("Enable endpoint").click();
    await person.fact("State").getByText("enabled").waitFor();
    await person.button("Delete").click();
    await person.button("Delete endpoint").click();
    await person.heading("Webhooks").waitFor();
    await person.settled();
    expect(await person.row("changed again").count()).toBe(0);
    await look(person, "webhooks");
    await person.page.setViewportSize(WIDE);
    await person.visit("Audit log");
    await eventually(async () => {
      await person.button("Refresh").click();
      await person.settled();
      return (await person.row("Deleted a webhook").count()) > 0;
    });
    const deleted = person.row("Deleted a webhook").first();
    expect(await deleted.getByText(system.demo.consoleEmail, { exact: true }).count()).toBe(1);
    await look(person, "audit-log");
    expect(person.complaints).toEqual([]);
  });
});
