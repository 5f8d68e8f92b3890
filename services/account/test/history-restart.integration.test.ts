import { randomUUID } from "node:crypto";

import { AccountEvent, directoryKey, type Deal, TOPICS } from "@kapi/contracts";
import { createKafka, startLogReader, startProducer } from "@kapi/kafka";
import { toIso } from "@kapi/kernel";
import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { anyAccountNumber, eventually, serverEntry } from "@kapi/testkit";
import { startTradingServerClient, type TradingServerClient } from "@kapi/trading-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const logger = createLogger({ service: "test", level: "silent" });
const KILLS = 3;
const ORDERS_PER_KILL = 15;
const INSERT_ACCOUNT = statement(
  "test-insert-account",
  `insert into accounts (id, organization_id, server_id, account_number, account_name, status, currency, leverage,
     initial_balance_minor, created_at, updated_at) values ($1, $2, $3, $4, 'Test', 'active', 'USD', 100, 0, $5, $5)`,
);

/** The account service as a child process that is killed. */
describe("an account service that is killed", () => {
  const scope = new Scope({ stopDeadlineMs: 30_000 });
  const accountEvents: AccountEvent[] = [];
  let stack: TestStack;
  let client: TradingServerClient;
  let database: Database;
  const server = serverEntry();

  beforeAll(async () => {
    stack = await scope.start("stack", async () => {
      const env = { "trading-simulator": { TICK_INTERVAL_MS: "0" }, all: { KAFKA_SESSION_TIMEOUT_MS: "3000" } };
      const value = await startTestStack({ services: ["trading-simulator", "account"], env });
      return { value, stop: () => value.stop() };
    });
    const { postgresUrl: connectionString, kafkaBrokers, topicPrefix } = stack.environment;
    const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
    const producer = await scope.start("producer", () => startProducer(kafka));
    const entry = { ...server, tradingServerUrl: stack.tradingServerUrl };
    await producer.send(TOPICS.organizationDirectory, { key: directoryKey(entry), value: JSON.stringify(entry) });
    const pool = { connectionString, schema: "account", applicationName: "test", logger };
    database = await scope.start("postgres", () => startPool(pool));
    client = await scope.start("client", () =>
      startTradingServerClient({
        addressOf: () => ({ url: stack.tradingServerUrl, token: stack.secrets.tradingServerToken }),
        timeoutMs: 3_000,
      }),
    );
    await client.configure(server.serverId, server.configuration);
    await scope.start("account events", () =>
      startLogReader(kafka, {
        topic: TOPICS.accountEvents,
        from: "beginning",
        onBatch: (_partition, messages) => {
          for (const { value } of messages) accountEvents.push(AccountEvent.parse(JSON.parse(value.toString("utf8"))));
        },
        logger,
        fatal: (error) => {
          throw error;
        },
      }),
    );
  });
  afterAll(() => scope.stop());

  it("has the whole history after its restart, each record once, with gapless events", async () => {
    const { serverId, organizationId } = server;
    const accountNumber = anyAccountNumber();
    // The row references the server's row, which the service writes after reading the directory.
    await eventually(() =>
      database.query(INSERT_ACCOUNT, [randomUUID(), organizationId, serverId, accountNumber, toIso(Date.now())]),
    );
    await client.change(serverId, [
      {
        type: "create",
        reference: randomUUID(),
        accountNumber,
        accountName: "Test account",
        leverage: 100,
        currency: "USD",
        initialBalanceMinor: 100_000_000,
        tradingPassword: "Trading-1",
        investorPassword: "Investor-1",
      },
    ]);
    const ordersUrl = `${stack.tradingServerUrl}/control/v1/servers/${serverId}/accounts/${accountNumber}/orders`;
    const order = JSON.stringify({ symbol: "EURUSD", side: "buy", volume: 0.01 });
    const service = stack.process("account");
    for (let kill = 0; kill < KILLS; kill += 1) {
      for (let index = 0; index < ORDERS_PER_KILL; index += 1) {
        const answer = await fetch(ordersUrl, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: order,
        });
        expect(answer.ok).toBe(true);
        // Kills the service while it books.
        if (index === ORDERS_PER_KILL - 1 - kill) service.kill("SIGKILL");
      }
      await service.ended();
      await service.start();
    }
    const url = `${service.url}/internal/servers/${serverId}/accounts/${accountNumber}`;
    const headers = { "x-service-token": stack.secrets.serviceTokens.gateway };
    const total = KILLS * ORDERS_PER_KILL;
    const open = (await (await fetch(`${url}/positions?status=open&limit=1`, { headers })).json()) as {
      pagination: { total: number };
    };
    expect(open.pagination.total).toBe(total);
    const { deals } = (await (await fetch(`${url}/deals?limit=100`, { headers })).json()) as { deals: Deal[] };
    const { events } = await client.history(serverId, accountNumber, 0, 1_000);
    const published = events.flatMap((event) => (event.type === "deal.executed" ? [event.deal.id] : []));
    expect(deals.map(({ id }) => id).toReversed()).toEqual(published);
    const own = (): Map<number, AccountEvent> =>
      new Map(
        accountEvents
          .filter((accountEvent) => accountEvent.accountNumber === accountNumber)
          .map((accountEvent) => [accountEvent.accountSequence, accountEvent]),
      );
    await eventually(() => own().size === 3 * total, { timeoutMs: 20_000 });
    expect([...own().keys()].toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 3 * total }, (_, index) => index + 1),
    );
    expect(new Set(Array.from(own().values(), ({ eventId }) => eventId)).size).toBe(3 * total);
  });
});
