/**
 * Webhooks end to end: a user registers an endpoint, and the receiver gets events of the trading
 * server.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { AuditAnswer, WebhookEvent, WebhookSecretAnswer } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { ConsoleClient } from "./console-session.ts";
import { ExampleReceiver } from "./example-receiver.ts";
import { type EnvelopeView, OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";
import { type Received, type ReceivedEvent, verified, WebhookReceiver } from "./webhook-receiver.ts";

/** Maximum time from the request that closes a position to the delivery of `position.closed`. */
const KNOWN_WITHIN_MS = 2_000;
const PAGE = 100;

interface Feed {
  readonly events: readonly (ReceivedEvent & { readonly id: string })[];
  readonly next: string;
}

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;
let receiver: WebhookReceiver;
let person: ConsoleClient;
let endpointId: string;
let secret: string;

beforeAll(async () => {
  [system, receiver] = await Promise.all([startSystem(), WebhookReceiver.start()]);
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
  person = await ConsoleClient.signIn(system.demo);
  const added = await person.ask("POST", "/webhooks", { url: receiver.url, description: "End to end" });
  expect(added.status).toBe(201);
  const { endpoint, secret: shownOnce } = WebhookSecretAnswer.parse(added.body);
  endpointId = endpoint.id;
  secret = shownOnce;
});

afterAll(async () => {
  await receiver.stop();
  await system.stop();
});

/** Waits for a delivery of a kind about an account, and returns the first one. */
function arrived(type: string, accountNumber: string): Promise<Received> {
  return eventually(() => {
    const found = receiver.ofType(type).find(({ event }) => event.data.accountNumber === accountNumber);
    return found ?? false;
  });
}

/** All events of the feed. */
async function feed(): Promise<Feed["events"]> {
  const events: Feed["events"][number][] = [];
  for (let after = ""; ;) {
    const { status, body } = await client.call<Feed>("GET", `/events?limit=${PAGE}${after}`);
    expect(status).toBe(200);
    if (body.events.length === 0) return events;
    events.push(...body.events);
    after = `&after=${encodeURIComponent(body.next)}`;
  }
}

/** Sends a mutation, waits until its command has succeeded, and returns the answer's passwords. */
async function passwordsOf(path: string, body: object): Promise<string[]> {
  const { body: answer } = await client.call<EnvelopeView>("POST", client.server(path), {
    body: { requestId: "passwords", ...body },
    idempotencyKey: randomUUID(),
  });
  await client.succeeded(answer.command.id);
  const { credentials, password } = answer;
  return [credentials?.tradingPassword, credentials?.investorPassword, password].filter((one) => one !== undefined);
}

it("a closed position reaches the receiver within two seconds, signed, and reads after the delivery show the position as closed", async () => {
  const number = await client.openAccount(10_000);
  await control.buy(number, "EURUSD", 0.1);
  const closes = await control.buy(number, "EURUSD", 0.2);
  await control.closeIfOpen(number, closes, 0.05);
  const beganMs = Date.now();
  await control.close(number, closes);
  const delivery = await arrived("position.closed", number);
  const tookMs = delivery.atMs - beganMs;
  process.stdout.write(`  position.closed came ${tookMs} ms after the request that closes it\n`);

  const read = await client.call<{ positions: { id: string; closedAt: string | null }[] }>(
    "GET",
    client.server(`/accounts/${number}/positions`),
  );
  expect(read.body.positions.find(({ id }) => id === closes)?.closedAt).toEqual(expect.any(String));
  const deals = await client.call<{ deals: { id: string; positionId: string; kind: string }[] }>(
    "GET",
    client.server(`/accounts/${number}/deals`),
  );
  const itsDeals = deals.body.deals.filter(({ positionId }) => positionId === closes).map(({ id }) => id);

  const event = WebhookEvent.parse(verified(secret, delivery));
  expect(event.data).toMatchObject({
    id: closes,
    status: "closed",
    serverId: system.demo.serverId,
    openPositionCount: 1,
  });
  expect(itsDeals).toHaveLength(3);
  expect(new Set((event.data as { dealIds?: string[] }).dealIds)).toEqual(new Set(itsDeals));
  expect(tookMs).toBeLessThan(KNOWN_WITHIN_MS);

  await eventually(async () => {
    const known = (await feed()).find(({ id }) => id === delivery.headers["webhook-id"]);
    expect(known).toMatchObject(JSON.parse(delivery.body) as object);
  });
});

it("a delivery with another body, another secret or another id does not verify", async () => {
  const number = await client.openAccount(100);
  const delivery = await arrived("account.created", number);
  const { body, headers } = delivery;
  expect(verified(secret, delivery)).toEqual(delivery.event);
  const otherSecret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const otherId = { body, headers: { ...headers, "webhook-id": "another" } };
  expect(() => verified(secret, { headers, body: body.replace(number, `${number}0`) })).toThrow(/signature/i);
  expect(() => verified(otherSecret, delivery)).toThrow(/signature/i);
  expect(() => verified(secret, otherId)).toThrow(/signature/i);
});

it("the events of an account are numbered without a gap in order of time, and the receiver gets each of them", async () => {
  const number = await client.openAccount(5_000);
  const position = await control.buy(number, "EURUSD", 0.3);
  await control.closeIfOpen(number, position, 0.1);
  await control.close(number, position);
  const { body } = await client.deposit(number, { amount: 12.5, requestId: "sequence" });
  await client.succeeded(body.command.id);
  const path = client.server(`/accounts/${number}/disable`);
  const disabled = await client.call<EnvelopeView>("POST", path, {
    body: { requestId: "sequence" },
    idempotencyKey: `disable ${number}`,
  });
  await client.succeeded(disabled.body.command.id);
  await arrived("account.disabled", number);
  await eventually(async () => {
    const announced = (await feed()).filter(({ data }) => data.accountNumber === number);
    const types = new Set(announced.map(({ type }) => type));
    for (const type of ["account.created", "position.opened", "position.updated", "position.closed", "deal.executed"]) {
      expect([...types]).toContain(type);
    }
    expect([...types]).toContain("transaction.recorded");
    expect(announced.map(({ data }) => data.accountSequence)).toEqual(announced.map((_, index) => index + 1));
    const times = announced.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted());
    expect(announced[0]?.type).toBe("account.created");
    const sent = receiver.received.filter(({ event }) => event.data.accountNumber === number);
    expect(new Set(sent.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set(announced.map(({ id }) => id)));
  });
});

it("no supplied or generated password is in any delivery or in the feed", async () => {
  const given = "Given-Pass-4711-<ü>";
  const creation = { accountName: "Passwords", initialBalance: 1, leverage: 100 };
  const passwords = [given, ...(await passwordsOf("/accounts", { ...creation, password: given }))];
  passwords.push(...(await passwordsOf("/accounts", creation)));
  const number = await client.openAccount(1);
  passwords.push(...(await passwordsOf(`/accounts/${number}/password-reset`, {})));
  passwords.push(...(await passwordsOf(`/accounts/${number}/investor-password-reset`, { password: `${given}2` })));
  await eventually(() => {
    const changes = receiver.ofType("account.password_changed");
    return changes.filter(({ event }) => event.data.accountNumber === number).length === 2;
  });
  expect(passwords.length).toBeGreaterThanOrEqual(6);
  const everything = JSON.stringify(await feed()) + receiver.received.map(({ body }) => body).join("\n");
  for (const password of passwords) {
    expect(everything).not.toContain(password);
    expect(everything).not.toContain(JSON.stringify(password).slice(1, -1));
  }
  for (const delivery of receiver.received) verified(secret, delivery);
});

it("the receiver of the docs processes each event once, rejects a forgery, and catches up from the feed after an outage", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "kapi-receiver-"));
  const example = await ExampleReceiver.prepare(folder, system.demo, async (url) => {
    const added = await person.ask("POST", "/webhooks", { url });
    return WebhookSecretAnswer.parse(added.body);
  });
  try {
    await example.start();
    const number = await client.openAccount(500);
    await eventually(() => expect(example.typesOf(number)).toHaveLength(2));
    expect(new Set(example.typesOf(number))).toEqual(new Set(["account.created", "transaction.recorded"]));
    const { body, headers } = await arrived("account.created", number);
    const forged = await fetch(example.url, { method: "POST", headers, body });
    expect(forged.status).toBe(400);
    const deliveries = `/webhooks/${example.endpointId}/deliveries`;
    const listed = await person.ask("GET", `${deliveries}?type=account.created`);
    const { id } = (listed.body as { deliveries: { id: string }[] }).deliveries[0] ?? { id: "" };
    await person.ask("POST", `${deliveries}/${id}/redeliver`);
    await eventually(async () => {
      const again = await person.ask("GET", `${deliveries}?type=account.created`);
      expect(again.body).toMatchObject({
        deliveries: [{ status: "succeeded", attempts: [{ status: 204 }, { status: 204 }] }],
      });
    });
    await example.kill();
    await control.buy(number, "EURUSD", 0.1);
    await arrived("position.opened", number);
    await example.start();
    await eventually(() => expect(example.typesOf(number)).toContain("position.opened"));
    const types = example.typesOf(number);
    expect(types.filter((type) => type === "account.created")).toHaveLength(1);
    expect(types).toContain("deal.executed");
    // The example's journal has a line for each processed event. An event whose line is truncated
    // counts as not processed: the example reads it from the feed again, and keeps all other lines.
    await example.kill();
    const sorted = example.typesOf(number).toSorted();
    for (let starts = 1; starts <= 2; starts += 1) {
      example.cutLastLine();
      await example.start();
      await eventually(() => expect(example.typesOf(number).toSorted()).toEqual(sorted));
      await example.kill();
    }
  } finally {
    await example.kill();
    rmSync(folder, { recursive: true });
  }
});

it("the console shows deliveries with their attempts, but no endpoint of another organization", async () => {
  const { body } = await person.ask("GET", `/webhooks/${endpointId}/deliveries?status=succeeded&type=position.closed`);
  expect(body).toMatchObject({
    deliveries: [
      { status: "succeeded", attempts: [{ number: 1, status: 200, error: null, replyStart: "thanks" }] },
      {},
    ],
    pagination: { total: 2 },
  });
  const other = await ConsoleClient.signIn(await system.stack.createDemo({ autoTraders: 0 }));
  expect((await other.ask("GET", "/webhooks")).body).toEqual({ endpoints: [] });
  for (const [method, below] of [
    ["GET", ""],
    ["DELETE", ""],
    ["GET", "/deliveries"],
    ["POST", "/rotate-secret"],
    ["POST", "/test"],
  ] as const) {
    expect((await other.ask(method, `/webhooks/${endpointId}${below}`)).status).toBe(404);
  }
});

it("commands, usage and transaction events show who caused them, and the audit log shows changes with their actor", async () => {
  const [, keyId = ""] = system.demo.managementKey.split(".");
  const key = { type: "key", id: keyId };
  const number = await client.openAccount(10_000);
  const { body: deposited } = await client.deposit(number, { amount: 5, requestId: "who" });
  expect(await client.succeeded(deposited.command.id)).toMatchObject({ createdBy: key });
  await control.buy(number, "EURUSD", 0.1);
  await passwordsOf(`/accounts/${number}/password-reset`, {});
  await client.call("PATCH", client.server("/configuration"), { body: { defaultLeverage: 50 } });
  const { body } = await client.call("POST", "/webhooks", { body: { url: receiver.url } });
  const { endpoint } = WebhookSecretAnswer.parse(body);
  expect((await client.call("DELETE", `/webhooks/${endpoint.id}`)).status).toBe(200);
  expect((await client.call("DELETE", client.server(`/accounts/${number}`))).status).toBe(200);
  await eventually(async () => {
    const events = (await feed()).filter(({ data }) => data.accountNumber === number);
    const booked = events.filter(({ type }) => type === "transaction.recorded").map(({ data }) => data);
    const creators = new Map(booked.map((data) => [data["type"], data["createdBy"]]));
    // The commission has no creator, because the position was opened without the API. The deletion
    // closed the position, so the key is the creator of its profit or loss.
    expect(creators.get("initial_balance")).toEqual(key);
    expect(creators.get("deposit")).toEqual(key);
    expect(creators.get("realized_pnl")).toEqual(key);
    expect(booked.find((data) => data["type"] === "commission")).toMatchObject({ createdBy: null });
  });
  await eventually(async () => {
    const { body: log } = await person.ask("GET", "/audit?limit=100");
    const { entries } = AuditAnswer.parse(log);
    const byKey = entries.filter(({ actor }) => actor?.type === "key");
    const announced = byKey.map(({ action, subject }) => `${action} ${subject?.id ?? ""}`);
    expect(announced).toEqual(
      expect.arrayContaining([
        `key.first_used ${keyId}`,
        `account.password_reset ${system.demo.serverId}/${number}`,
        `server.updated ${system.demo.serverId}`,
        `webhook.created ${endpoint.id}`,
        `webhook.deleted ${endpoint.id}`,
      ]),
    );
    expect(byKey.every(({ actor, address }) => actor?.id === keyId && address === "127.0.0.1")).toBe(true);
    expect(entries.map(({ action, subject }) => `${action} ${subject?.id ?? ""}`)).toContain(
      `webhook.created ${endpointId}`,
    );
  });
  const usage = await person.ask("GET", "/credits/usage");
  expect(usage.body).toMatchObject({ usage: expect.arrayContaining([expect.objectContaining({ createdBy: key })]) });
});
