/** Closing all positions of an account, as an organization's backend does it. */
import { randomUUID } from "node:crypto";

import { accountKey } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { commandMessage, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type CommandView, OutsideClient } from "./outside-client.ts";
import { publish } from "./publish.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

interface Flattened {
  readonly closed: readonly { readonly positionId: string; readonly dealIds: readonly string[] }[];
  readonly cancelled: readonly string[];
}

const HIGH_LEVERAGE = 500;
/** Time until the deadline of commands that cannot be completed, because a market is closed. */
const DEADLINE_MS = 4_000;

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;

beforeAll(async () => {
  system = await startSystem();
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
});

afterAll(() => system.stop());

async function queue(accountNumber: string, action: string, more: object = {}): Promise<CommandView> {
  const body = { requestId: "flatten", ...more };
  const { status, body: queued } = await client.queue("POST", `/accounts/${accountNumber}/${action}`, body);
  expect(status, JSON.stringify(queued)).toBe(202);
  return queued.command;
}

async function list<T>(accountNumber: string, what: string): Promise<readonly T[]> {
  const path = client.server(`/accounts/${accountNumber}/${what}`);
  const { status, body } = await client.call<Record<string, readonly T[]>>("GET", path);
  expect(status).toBe(200);
  return body[what.replace(/\?.*/, "")] ?? [];
}

/** Creates a key that can read and change accounts, without a scope for risk. Returns the key. */
async function keyWithoutRisk(): Promise<string> {
  const { stack, demo } = system;
  const response = await fetch(`${stack.url("organization")}/internal/organizations/${demo.organizationId}/keys`, {
    method: "POST",
    headers: { "x-service-token": stack.secrets.serviceTokens.operator, "content-type": "application/json" },
    body: JSON.stringify({ scopes: ["accounts:read", "accounts:update"] }),
  });
  return ((await response.json()) as { managementKey: string }).managementKey;
}

/**
 * Queues a command as the gateway does, but with a deadline in a few seconds. The command flattens
 * the account. Returns the id of the command.
 */
async function queueBriefly(accountNumber: string, operation: "account.flatten" | "account.disable"): Promise<string> {
  const { organizationId, serverId } = system.demo;
  const message = commandMessage({
    organizationId,
    serverId,
    accountNumber,
    operation,
    payload: operation === "account.disable" ? { flatten: true } : {},
    reservedCredits: 0,
    deadlineAt: toIso(Date.now() + DEADLINE_MS),
  });
  const key = accountKey(serverId, accountNumber);
  await publish(system.stack, [{ topic: "commandsAccount", key, value: JSON.stringify(message) }]);
  return message.commandId;
}

/** An account with two positions and a pending order. */
async function tradingAccount(): Promise<{ accountNumber: string; positions: string[] }> {
  const accountNumber = await client.openAccount(100_000, HIGH_LEVERAGE);
  const positions = [await control.buy(accountNumber, "EURUSD", 0.5), await control.buy(accountNumber, "GBPUSD", 0.2)];
  await control.order(accountNumber, { symbol: "EURUSD", side: "buy", orderType: "limit", volume: 0.1, price: 0.5 });
  return { accountNumber, positions };
}

/** Expects that every read shows the flattened account. */
async function expectFlat(accountNumber: string, { closed, cancelled }: Flattened, positions: readonly string[]) {
  expect(closed.map(({ positionId }) => positionId)).toEqual(positions);
  expect(cancelled).toHaveLength(1);
  expect(await list(accountNumber, "positions?status=open")).toEqual([]);
  const deals = await list<{ id: string; kind: string }>(accountNumber, "deals");
  const exits = deals.filter(({ kind }) => kind === "exit").map(({ id }) => id);
  expect(closed.flatMap(({ dealIds }) => dealIds).toSorted()).toEqual(exits.toSorted());
  const orders = await list<{ id: string; status: string }>(accountNumber, "orders");
  expect(orders.filter(({ status }) => status === "cancelled").map(({ id }) => id)).toEqual(cancelled);
  const booked = await list<{ dealId: string | null }>(accountNumber, "transactions");
  for (const dealId of exits) expect(booked.some((transaction) => transaction.dealId === dealId)).toBe(true);
  expect((await client.account(accountNumber)).openPositionCount).toBe(0);
}

describe("a flatten", () => {
  it("closes every position and cancels every order once, as every read shows, although an answer of the trading server is lost", async () => {
    const { accountNumber, positions } = await tradingAccount();
    await control.inject({ kind: "drop_answer", operation: "flatten", accountNumber, count: 1 });
    const { id, createdBy } = await queue(accountNumber, "flatten");
    const flattened = (await client.succeeded(id)).result as unknown as Flattened;
    await expectFlat(accountNumber, flattened, positions);
    const booked = await list<{ dealId: string | null; createdBy: unknown }>(accountNumber, "transactions");
    for (const dealId of flattened.closed.flatMap(({ dealIds }) => dealIds)) {
      expect(booked.find((transaction) => transaction.dealId === dealId)?.createdBy).toEqual(createdBy);
    }
    expect((await client.account(accountNumber)).status).toBe("active");
  });

  it("waits while a market is closed, and closes the remaining position when the market opens", async () => {
    const { accountNumber, positions } = await tradingAccount();
    await control.openMarket("GBPUSD", false);
    const { id } = await queue(accountNumber, "flatten");
    await eventually(async () => expect(await list(accountNumber, "positions?status=open")).toHaveLength(1));
    const path = `/commands/${id}`;
    expect((await client.call<{ command: CommandView }>("GET", path)).body.command.result).toBeNull();
    await control.openMarket("GBPUSD", true);
    const { result, attempts } = await client.succeeded(id);
    expect(attempts).toBeGreaterThan(1);
    await expectFlat(accountNumber, result as unknown as Flattened, positions);
  });

  it("fails at its deadline while a market is closed, and names what it closed and cancelled", async () => {
    const { accountNumber, positions } = await tradingAccount();
    const pending = await control.pendingOrders(accountNumber);
    await control.openMarket("GBPUSD", false);
    const commandId = await queueBriefly(accountNumber, "account.flatten");
    const command = await client.finished(commandId);
    await control.openMarket("GBPUSD", true);
    expect(command).toMatchObject({ status: "failed", errorCode: "ACCOUNT_HAS_OPEN_POSITIONS", result: null });
    expect(command.errorMessage).toBe(
      `closed positions: ${positions[0]}; cancelled orders: ${pending[0]}; still open, because a market is closed: ${positions[1]} (GBPUSD)`,
    );
    const [left] = await list<{ id: string }>(accountNumber, "positions?status=open");
    expect(left?.id).toBe(positions[1]);
    // The command is over: nothing closes the position when its market opens.
    const { result } = await client.succeeded((await queue(accountNumber, "flatten")).id);
    expect((result as unknown as Flattened).closed.map(({ positionId }) => positionId)).toEqual([positions[1]]);
  });

  it("of an account without positions succeeds, and closes nothing", async () => {
    const { id } = await queue(await client.openAccount(), "flatten");
    expect((await client.succeeded(id)).result).toEqual({ closed: [], cancelled: [] });
  });
});

describe("disabling an account", () => {
  it("with `flatten` closes everything, even if the account is disabled already; without `flatten`, positions stay", async () => {
    const { accountNumber, positions } = await tradingAccount();
    const plain = await client.succeeded((await queue(accountNumber, "disable")).id);
    expect(plain.result).toEqual({ status: "disabled", changed: true });
    expect(await list(accountNumber, "positions?status=open")).toHaveLength(2);
    const { result } = await client.succeeded((await queue(accountNumber, "disable", { flatten: true })).id);
    expect(result).toMatchObject({ status: "disabled", changed: false });
    await expectFlat(accountNumber, result as unknown as Flattened, positions);
  });

  it("with `flatten` that fails at its deadline leaves the account disabled, as account details and event feed show", async () => {
    const { accountNumber, positions } = await tradingAccount();
    await control.openMarket("GBPUSD", false);
    const command = await client.finished(await queueBriefly(accountNumber, "account.disable"));
    await control.openMarket("GBPUSD", true);
    expect(command).toMatchObject({ status: "failed", errorCode: "ACCOUNT_HAS_OPEN_POSITIONS", result: null });
    expect((await client.account(accountNumber)).status).toBe("disabled");
    expect(await control.order(accountNumber, { symbol: "EURUSD", side: "buy", volume: 0.1 })).toBeNull();
    await eventually(async () => {
      const path = "/events?limit=1000&kinds=account.disabled";
      const { body } = await client.call<{ events: readonly { data: { accountNumber: string } }[] }>("GET", path);
      expect(body.events.filter(({ data }) => data.accountNumber === accountNumber)).toHaveLength(1);
    });
    const { result } = await client.succeeded((await queue(accountNumber, "disable", { flatten: true })).id);
    expect(result).toMatchObject({ status: "disabled", changed: false, closed: [{ positionId: positions[1] }] });
  });

  it("with `flatten` needs the scope risk:manage too", async () => {
    const accountNumber = await client.openAccount();
    const limited = client.withKey(await keyWithoutRisk());
    const path = client.server(`/accounts/${accountNumber}/disable`);
    const send = (flatten: boolean) =>
      limited.call<{ error: string }>("POST", path, {
        body: { requestId: "limited", flatten },
        idempotencyKey: randomUUID(),
      });
    await eventually(async () => expect((await send(false)).status).toBe(202));
    expect(await send(true)).toMatchObject({ status: 403, body: { error: "Missing API scope: risk:manage" } });
  });
});

describe("a breach with the action flatten_and_disable", () => {
  it("leaves the account flat and disabled", async () => {
    const { accountNumber, positions } = await tradingAccount();
    const rules = [{ id: "target", type: "maxLoss", limit: { amount: 1 }, action: "flatten_and_disable" }];
    const set = await client.queue("PUT", `/accounts/${accountNumber}/risk-rules`, { rules, requestId: "rules" });
    await client.succeeded(set.body.command.id);
    const breaches = await eventually(async () => {
      const found = await list<{ commandId: string }>(accountNumber, "breaches");
      expect(found).toHaveLength(1);
      return found;
    });
    const { result } = await client.succeeded(breaches[0]?.commandId ?? "");
    await expectFlat(accountNumber, result as unknown as Flattened, positions);
    expect((await client.account(accountNumber)).status).toBe("disabled");
  });
});
