import { AuditEvent, AuditOutboxAnswer, TOPICS } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { Harness } from "./harness.ts";

let harness: Harness;
let path: string;
let serverId: string;
beforeAll(async () => {
  harness = await Harness.create();
});
afterAll(async () => {
  await harness.stop();
});

async function insertServer(): Promise<void> {
  ({ serverId } = await harness.publishServer());
  path = `/internal/servers/${serverId}/configuration`;
}

/** Whether the trading server opens an account with this leverage. */
async function supports(leverage: number): Promise<boolean> {
  const event = await harness.final(
    await harness.publishCreation({ serverId, payload: { accountName: "Trader", initialBalance: 0, leverage } }),
  );
  if (event.errorCode !== null) expect(event.errorCode).toBe("LEVERAGE_NOT_SUPPORTED");
  return event.status === "succeeded";
}

describe("the configuration of a server", () => {
  it("is changed before the answer, also on the trading server; the answer has sorted leverages and a currency symbol", async () => {
    await insertServer();
    const answer = await harness.call("PATCH", path, { supportedLeverage: [300, 7, 100], currency: "NGN" });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        server: { supportedLeverage: [7, 100, 300], defaultLeverage: 100, currency: "NGN", currencySymbol: "₦" },
      },
    });
    expect((await harness.call("GET", path)).body).toEqual(answer.body);
    expect(await supports(7)).toBe(true);
    expect(await supports(200)).toBe(false);
  });

  it("keeps omitted fields; a stored default leverage that is no longer supported becomes null; a request with an unsupported default leverage is rejected", async () => {
    await insertServer();
    const change = (body: unknown) => harness.call("PATCH", path, body);
    expect(await change({ supportedLeverage: [5, 10] })).toMatchObject({ body: { server: { defaultLeverage: null } } });
    const refused = await change({ defaultLeverage: 100 });
    expect(refused).toMatchObject({ status: 400, code: "VALIDATION_FAILED" });
    expect(refused.body.issues.map(({ path }: { path: unknown }) => path)).toEqual([["defaultLeverage"]]);
    expect(await change({ supportedLeverage: [20], defaultLeverage: 10 })).toMatchObject({ status: 400 });
    expect(await change({ defaultLeverage: 10 })).toMatchObject({
      body: { server: { supportedLeverage: [5, 10], defaultLeverage: 10, currency: "USD" } },
    });
    expect(await change({ defaultLeverage: null })).toMatchObject({ body: { server: { defaultLeverage: null } } });
    expect(await change({})).toMatchObject({ status: 400 });
  });

  it("applies a new currency to new accounts only", async () => {
    await insertServer();
    const old = await harness.account({ serverId });
    await harness.call("PATCH", path, { currency: "NGN" });
    const fresh = await harness.account({ serverId });
    const currencyOf = async (account: string): Promise<unknown> => {
      const { body } = await harness.call("GET", `/internal/servers/${serverId}/accounts/${account}`);
      return [body.account.currency, body.account.currencySymbol];
    };
    expect(await currencyOf(old)).toEqual(["USD", "$"]);
    expect(await currencyOf(fresh)).toEqual(["NGN", "₦"]);
    expect((await harness.client.snapshot(serverId, fresh))?.currency).toBe("NGN");
  });

  it("cannot be changed while the trading server is unavailable: 500; a repeated request completes the change", async () => {
    await insertServer();
    const faults = `/control/v1/servers/${serverId}/faults`;
    const json = { "content-type": "application/json" };
    const fault = JSON.stringify({ kind: "unreachable", operation: "configure", count: null });
    // The trading simulator accepts the fault once it knows the server.
    await eventually(async () => {
      const set = await fetch(harness.stack.tradingServerUrl + faults, { method: "POST", headers: json, body: fault });
      expect(set.ok).toBe(true);
    });
    const body = { supportedLeverage: [7] };
    expect(await harness.call("PATCH", path, body)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
    expect(await supports(7)).toBe(false);
    await fetch(harness.stack.tradingServerUrl + faults, { method: "DELETE" });
    expect(await harness.call("PATCH", path, body)).toMatchObject({ status: 200 });
    expect(await supports(7)).toBe(true);
  });

  it("is sent to the trading server by the next process, after a crash between storing and sending it", async () => {
    await insertServer();
    await harness.restart("account.configuration-written");
    await expect(harness.call("PATCH", path, { supportedLeverage: [7] })).rejects.toThrow("fetch failed");
    await harness.died();
    await harness.restart();
    expect(await harness.call("GET", path)).toMatchObject({ body: { server: { supportedLeverage: [7] } } });
    await eventually(async () => expect(await supports(7)).toBe(true));
  });

  it("has one audit entry, with the caller, for each change; a repeated or rejected request adds none", async () => {
    await insertServer();
    const by = { "x-kapi-actor": "user/0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01", "x-kapi-address": "203.0.113.7" };
    for (let time = 0; time < 2; time += 1) await harness.call("PATCH", path, { supportedLeverage: [7, 100] }, by);
    await harness.call("PATCH", path, { defaultLeverage: 9 }, by);
    const outbox = async () => {
      const { events } = AuditOutboxAnswer.parse((await harness.call("GET", "/internal/audit-outbox")).body);
      return events.map((event) => AuditEvent.parse(event));
    };
    const own = (await outbox()).filter(({ subject }) => subject?.id === serverId);
    expect(own).toMatchObject([
      {
        action: "server.updated",
        actor: { type: "user", id: "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01" },
        address: "203.0.113.7",
        details: { supportedLeverage: [7, 100] },
      },
    ]);
    const eventIds = own.map(({ eventId }) => eventId);
    await harness.call("POST", "/internal/audit-outbox/recorded", { eventIds });
    expect((await outbox()).filter(({ subject }) => subject?.id === serverId)).toEqual([]);
  });

  it("is the same in the service and on the trading server after concurrent changes", async () => {
    await insertServer();
    const leverages = Array.from({ length: 12 }, (_, index) => 11 + index);
    const answers = await Promise.all(
      leverages.map((leverage) => harness.call("PATCH", path, { supportedLeverage: [leverage] })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const [shown] = (await harness.call("GET", path)).body.server.supportedLeverage;
    expect(await supports(shown)).toBe(true);
    for (const leverage of leverages.slice(0, 4)) expect(await supports(leverage)).toBe(leverage === shown);
  });

  it("cannot be changed on an unknown or removed server: 404", async () => {
    const nowhere = "/internal/servers/0192d3a0-0000-7000-8000-000000000001/configuration";
    expect(await harness.call("PATCH", nowhere, { currency: "USD" })).toMatchObject({ status: 404 });
    const server = await harness.publishServer();
    const removed = { ...server, version: 2, status: "removed" };
    await harness.send(TOPICS.organizationDirectory, `server/${server.serverId}`, removed);
    const own = `/internal/servers/${server.serverId}/configuration`;
    await eventually(async () => expect((await harness.call("PATCH", own, { currency: "USD" })).status).toBe(404));
  });
});
