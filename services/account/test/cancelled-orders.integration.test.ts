/** Changes of the status that cancel pending orders, and what reads show after them. */
import { afterAll, beforeAll, expect, it } from "vitest";

import { Harness } from "./harness.ts";

let env: Harness;
beforeAll(async () => {
  env = await Harness.create();
});
afterAll(async () => {
  await env.stop();
});

it("archiving is retried if the trading server does not give the account's event sequence", async () => {
  const account = await env.account();
  await env.control("POST", `/accounts/${account}/orders`, {
    symbol: "EURUSD",
    side: "buy",
    orderType: "limit",
    price: 0.5,
    volume: 0.1,
  });
  await env.fault({ kind: "unreachable", accountNumber: account, operation: "sequence", count: 1 });
  const { commandId } = await env.publish(account, "account.archive");
  const event = await env.final(commandId);
  expect(event).toMatchObject({ status: "succeeded", result: { status: "archived", changed: true } });
  expect(event.attempts).toBeGreaterThan(1);
  const { orders } = (await env.call("GET", `${env.pathOf(account)}/orders?page=1&limit=20`)).body;
  expect(orders).toMatchObject([{ status: "cancelled" }]);
});

it("close-only returns the cancelled orders, and lists show them, even if the trading server's response is lost", async () => {
  const account = await env.account();
  const position = await env.openPosition(account);
  const order = { symbol: "EURUSD", side: "buy", orderType: "limit", price: 0.5, volume: 0.1 };
  const placed = (await env.control("POST", `/accounts/${account}/orders`, order)).body.order.id;
  await env.fault({ kind: "drop_answer", accountNumber: account, operation: "set_status", count: 1 });
  const { result } = await env.run(account, "account.close_only");
  expect(result).toEqual({ status: "close_only", changed: true, cancelled: [placed] });
  const { orders } = (await env.call("GET", `${env.pathOf(account)}/orders?page=1&limit=20&status=cancelled`)).body;
  expect(orders).toMatchObject([{ id: placed }]);
  const { accounts } = (
    await env.call("GET", `/internal/servers/${env.server.serverId}/accounts?status=close_only&limit=100`)
  ).body;
  expect(accounts.map(({ accountNumber }: { accountNumber: string }) => accountNumber)).toContain(account);
  await expect(env.openPosition(account)).rejects.toThrow("no position");
  await env.control("POST", `/accounts/${account}/positions/${position}/close`, { volume: 0.04 });
  await env.control("POST", `/accounts/${account}/positions/${position}/close`, {});
  expect((await env.client.snapshot(env.server.serverId, account))?.openPositionCount).toBe(0);
  await env.run(account, "account.enable");
  await env.openPosition(account);
});
