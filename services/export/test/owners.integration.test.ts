/** End to end with the real owners: exports over the management API. */
import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { CommandAnswer, CommandEnvelope, HistoryExport } from "@kapi/contracts";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";

const Placed = z.object({ positionId: z.string() });

describe("an export over the management API", () => {
  let stack: TestStack;
  let demo: Awaited<ReturnType<TestStack["createDemo"]>>;
  beforeAll(async () => {
    stack = await startTestStack({ together: true, env: { "trading-simulator": { TICK_INTERVAL_MS: "0" } } });
    demo = await stack.createDemo();
  });
  afterAll(async () => {
    await stack.stop();
  });

  async function call(method: string, path: string, body?: Record<string, unknown>): Promise<[number, unknown]> {
    const headers: Record<string, string> = { authorization: `Management ${demo.managementKey}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (method === "POST") headers["idempotency-key"] = randomUUID();
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(`${demo.baseUrl}/api/v1/management${path}`, init);
    return [response.status, await response.json()];
  }

  /** Queues a command and waits until it succeeds; returns its result. */
  async function done(path: string, body: Record<string, unknown>): Promise<unknown> {
    const [status, envelope] = await call("POST", `/servers/${demo.serverId}${path}`, { ...body, requestId: "r-1" });
    expect([status, envelope]).toEqual([202, expect.anything()]);
    const { id } = CommandEnvelope.parse(envelope).command;
    const [, answer] = await call("GET", `/commands/${id}?wait=20`);
    const { command } = CommandAnswer.parse(answer);
    expect(command).toMatchObject({ status: "succeeded", errorMessage: null });
    return command.result;
  }

  async function control(path: string, body: Record<string, unknown>): Promise<unknown> {
    const response = await fetch(`${demo.tradingServerUrl}/control/v1/servers/${demo.serverId}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(response.ok).toBe(true);
    return response.json();
  }

  it("has every record from before its request, or the newest `limit`; after the account is deleted, exports and lists are 404", async () => {
    const created = await done("/accounts", { accountName: "Export", initialBalance: 10_000, leverage: 100 });
    const { accountNumber } = z.object({ accountNumber: z.string() }).parse(created);
    const account = `/accounts/${accountNumber}`;
    await done(`${account}/finance/deposits`, { amount: 12.34, description: "first" });
    const { positionId } = Placed.parse(
      await control(`${account}/orders`, { symbol: "EURUSD", side: "buy", volume: 0.2 }),
    );
    await control(`${account}/positions/${positionId}/close`, { volume: 0.1 });
    await control(`${account}/positions/${positionId}/close`, {});

    const whole = HistoryExport.parse(await done(`${account}/exports/history`, {}));
    expect(whole).toMatchObject({ from: null, to: null, truncated: false, recordCount: whole.records.length });
    const ofKind = (kind: string) => whole.records.filter((record) => record.kind === kind);
    expect(ofKind("transaction")).toContainEqual(expect.objectContaining({ type: "initial_balance", amount: 10_000 }));
    expect(ofKind("transaction")).toContainEqual(expect.objectContaining({ amount: 12.34, description: "first" }));
    expect(ofKind("transaction")).toContainEqual(expect.objectContaining({ type: "realized_pnl", positionId }));
    expect(ofKind("position")).toEqual([expect.objectContaining({ id: positionId, status: "closed" })]);
    expect(ofKind("order")).toHaveLength(3);
    expect(ofKind("deal").map((deal) => deal.kind === "deal" && deal.dealKind)).toEqual([
      "exit",
      "partial_close",
      "entry",
    ]);

    const newest = HistoryExport.parse(await done(`${account}/exports/history`, { limit: 4 }));
    expect(newest).toMatchObject({ recordCount: 4, truncated: true, records: whole.records.slice(0, 4) });

    expect((await call("DELETE", `/servers/${demo.serverId}${account}`))[0]).toBe(200);
    const afterDelete = await call("POST", `/servers/${demo.serverId}${account}/exports/history`, { requestId: "r-2" });
    expect(afterDelete[0]).toBe(404);
    for (const list of ["transactions", "orders", "positions", "deals"]) {
      expect((await call("GET", `/servers/${demo.serverId}${account}/${list}`))[0]).toBe(404);
    }
  });
});
