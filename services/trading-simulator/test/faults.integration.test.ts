import { randomUUID } from "node:crypto";

import { anyAccountNumber, createTestEnvironment, eventually, TcpProxy, type TestEnvironment } from "@kapi/testkit";
import { TradingServerUnreachable } from "@kapi/trading-server";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { configuredServer, creation, deposit, type Running, startTradingServer } from "./support.ts";

const LATE_MS = 150;

let environment: TestEnvironment;
/** Between the service and PostgreSQL. */
let postgres: TcpProxy;
let running: Running;
let serverId: string;
let account: string;

beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["kafka", "postgres"] });
  const front = await TcpProxy.inFrontOf(environment.postgresUrl);
  postgres = front.proxy;
  running = await startTradingServer(environment, { POSTGRES_URL: front.url });
  serverId = await configuredServer(running);
});

afterAll(async () => {
  await running.kill("SIGTERM");
  await postgres.close();
  await environment.stop();
});

beforeEach(async () => {
  account = anyAccountNumber();
  await running.client.change(serverId, [creation(account)]);
});

afterEach(async () => {
  await running.control("DELETE", `/servers/${serverId}/faults`);
});

async function inject(fault: Record<string, unknown>): Promise<void> {
  const { status } = await running.control("POST", `/servers/${serverId}/faults`, fault);
  expect(status).toBe(201);
}

async function balanceMinor(): Promise<number | undefined> {
  return (await running.client.snapshot(serverId, account))?.balanceMinor;
}

describe("a change whose answer is dropped", () => {
  it("is applied, and `settle` returns the outcome", async () => {
    await inject({ kind: "drop_answer", accountNumber: account, operation: "deposit" });
    const change = deposit(account, 700);
    await expect(running.client.change(serverId, [change])).rejects.toThrow(TradingServerUnreachable);
    const [settled] = await running.client.settle(serverId, [change.reference]);
    expect(settled).toMatchObject({ status: "applied", event: { amountMinor: 700 } });
    expect(await running.client.change(serverId, [change])).toEqual([settled]);
    expect(await balanceMinor()).toBe(700);
  });
});

describe("a change that a fault delays", () => {
  it("is applied after its delay if its reference is not settled before", async () => {
    await inject({ kind: "apply_late", accountNumber: account, delayMs: LATE_MS });
    await expect(running.client.change(serverId, [deposit(account, 700)])).rejects.toThrow(TradingServerUnreachable);
    expect(await balanceMinor()).toBe(0);
    await eventually(async () => expect(await balanceMinor()).toBe(700));
  });

  it("is never applied after its reference is settled", async () => {
    await inject({ kind: "apply_late", accountNumber: account, delayMs: LATE_MS });
    const change = deposit(account, 700);
    const later = deposit(account, 5);
    await expect(running.client.change(serverId, [change])).rejects.toThrow(TradingServerUnreachable);
    expect(await running.client.settle(serverId, [change.reference])).toMatchObject([{ status: "closed" }]);
    // `later` has a longer delay. When `later` is applied, the delay of `change` is over.
    await inject({ kind: "apply_late", reference: later.reference, delayMs: 2 * LATE_MS });
    await expect(running.client.change(serverId, [later])).rejects.toThrow(TradingServerUnreachable);
    await eventually(async () => expect(await balanceMinor()).toBe(5));
    expect(await running.client.change(serverId, [change])).toMatchObject([{ status: "closed" }]);
    expect(await balanceMinor()).toBe(5);
  });

  it("is applied only once, also if the caller sends the change again before the delay ends", async () => {
    await inject({ kind: "apply_late", accountNumber: account, delayMs: LATE_MS });
    const change = deposit(account, 700);
    const later = deposit(account, 5);
    await expect(running.client.change(serverId, [change])).rejects.toThrow(TradingServerUnreachable);
    expect(await running.client.change(serverId, [change])).toMatchObject([{ status: "applied" }]);
    await inject({ kind: "apply_late", reference: later.reference, delayMs: 2 * LATE_MS });
    await expect(running.client.change(serverId, [later])).rejects.toThrow(TradingServerUnreachable);
    await eventually(async () => expect(await balanceMinor()).toBe(705));
  });
});

describe("other faults", () => {
  it("reject one change permanently with the requested code, but not the next change", async () => {
    await inject({ kind: "refuse", operation: "deposit", code: "ACCOUNT_DISABLED" });
    const change = deposit(account, 700);
    const refused = [{ reference: change.reference, status: "refused", code: "ACCOUNT_DISABLED" }];
    expect(await running.client.change(serverId, [change])).toMatchObject(refused);
    expect(await running.client.change(serverId, [change])).toMatchObject(refused);
    expect(await running.client.change(serverId, [deposit(account, 1)])).toMatchObject([{ status: "applied" }]);
  });

  it("make the server unreachable a given number of times, without applying anything", async () => {
    await inject({ kind: "unreachable", count: 1 });
    await inject({ kind: "unreachable", count: 1, disconnect: true });
    const change = deposit(account, 700);
    await expect(running.client.change(serverId, [change])).rejects.toThrow(TradingServerUnreachable);
    await expect(running.client.settle(serverId, [change.reference])).rejects.toThrow(TradingServerUnreachable);
    expect(await balanceMinor()).toBe(0);
    expect(await running.client.change(serverId, [change])).toMatchObject([{ status: "applied" }]);
  });

  it("delay an answer", async () => {
    await inject({ kind: "delay", delayMs: LATE_MS, operation: "snapshot" });
    const begun = performance.now();
    await running.client.snapshot(serverId, account);
    expect(performance.now() - begun).toBeGreaterThan(LATE_MS - 5);
  });

  it("are listed with their remaining count, and cleared", async () => {
    await inject({ kind: "delay", delayMs: 0, count: 3, operation: "snapshot" });
    await running.client.snapshot(serverId, account);
    const listed = await running.control("GET", `/servers/${serverId}/faults`);
    expect(listed.body).toMatchObject({ faults: [{ kind: "delay", remaining: 2, operation: "snapshot" }] });
    expect((await running.control("DELETE", `/servers/${serverId}/faults`)).body).toEqual({ cleared: 1 });
  });
});

describe("a request to the contract", () => {
  it("requires the token", async () => {
    const url = `${running.url}/v1/servers/${serverId}/accounts/${account}`;
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(url, { headers: { "x-internal-token": "wrong" } })).status).toBe(401);
  });

  it("finds an unconfigured server unreachable, so that the caller retries", async () => {
    await expect(running.client.change(randomUUID(), [deposit(account, 1)])).rejects.toThrow(TradingServerUnreachable);
  });
});

it("the service is not ready while PostgreSQL does not answer", async () => {
  const ready = (): Promise<Response> => fetch(`${running.url}/readyz`);
  await postgres.blackhole();
  await eventually(async () => expect(await (await ready()).json()).toHaveProperty("reasons.postgres"));
  await postgres.pass();
  await eventually(async () => expect((await ready()).ok).toBe(true));
});
