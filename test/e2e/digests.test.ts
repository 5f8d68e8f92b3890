/** Daily digests, as an organization's backend reads and reconciles them. */
import { InvalidRequestError, Kapi, NotFoundError } from "@kapi/client";
import { accountKey, TOPICS, type TradingEvent } from "@kapi/contracts";
import { addDays, utcDay } from "@kapi/digests";
import { createKafka, startProducer } from "@kapi/kafka";
import { createLogger, Scope } from "@kapi/runtime";
import { balanceChanged, eventEnvelope, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { digestHash } from "../../docs/examples/daily-digest.ts";
import { OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

const MAKING_TIMEOUT_MS = 40_000;
const logger = createLogger({ service: "test", level: "silent" });

const scope = new Scope({ stopDeadlineMs: 30_000 });
let system: RunningSystem;
let kapi: Kapi;
let publish: (events: readonly TradingEvent[]) => Promise<void>;

beforeAll(async () => {
  // Without a grace time, the digests of yesterday exist even in the first minutes of a day.
  system = await startSystem({ all: { DIGEST_GRACE_MS: "0" } });
  const { managementKey: key, baseUrl, wsBase: liveUrl } = system.demo;
  kapi = new Kapi({ key, baseUrl, liveUrl });
  const { kafkaBrokers, topicPrefix } = system.stack.environment;
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  const producer = await scope.start("producer", () => startProducer(kafka));
  publish = async (events) => {
    for (const event of events) {
      const key = accountKey(event.serverId, event.accountNumber);
      await producer.send(TOPICS.tradingEvents, { key, value: JSON.stringify(event) });
    }
  };
});

afterAll(async () => {
  await scope.stop();
  await system.stop();
});

/** A deposit and a closing deal at noon of a day, as the next events of the account. */
async function eventsOf(accountNumber: string, day: string): Promise<TradingEvent[]> {
  const { serverId } = system.demo;
  const { sequence, balanceMinor } = await new TradingControl(system.demo).account(accountNumber);
  const occurredAt = `${day}T12:00:00.000Z`;
  const deposit = { serverId, accountNumber, occurredAt, sequence: sequence + 1, balanceMinor: balanceMinor + 5_000 };
  const deal = {
    id: `D-${accountNumber}`,
    orderId: "O-1",
    positionId: "P-1",
    symbol: "EURUSD",
    side: "sell" as const,
    kind: "exit" as const,
    volume: 0.1,
    price: 1.08451,
    realizedPnlMinor: 1_250,
    commissionMinor: -70,
    swapMinor: 0,
    executedAt: occurredAt,
  };
  const traded = { ...deposit, sequence: sequence + 2, balanceMinor: balanceMinor + 5_000 + 1_180 };
  return [
    balanceChanged({ ...deposit, amountMinor: 5_000 }),
    { ...eventEnvelope(traded), type: "deal.executed", deal },
  ];
}

describe("daily digests", () => {
  it("agree with the records of the API, and show the first record that differs in a backend's book", async () => {
    const { serverId } = system.demo;
    const server = kapi.server(serverId);
    const date = addDays(utcDay(Date.now()), -1);
    const accountNumber = await new OutsideClient(system.demo).openAccount(1_000, 100);
    await publish(await eventsOf(accountNumber, date));
    const digest = await eventually(
      async () => {
        const digests = await server.digests({ date }).toArray();
        const found = digests.find((one) => one.accountNumber === accountNumber);
        expect(found).toMatchObject({ transactions: { count: 3 }, deals: { count: 1 } });
        return found;
      },
      { timeoutMs: MAKING_TIMEOUT_MS },
    );
    // The account was opened today, so its initial balance is booked today.
    expect(digest).toMatchObject({
      date,
      currency: "USD",
      closingBalance: "61.80",
      transactions: { amount: "61.80" },
      deals: { commission: "-0.70", realizedPnl: "12.50", swap: "0.00" },
    });
    // The records are late if the digest of the day was made before they were booked.
    expect(digest?.revisedAt === null).toBe(digest?.revision === 1);
    if (digest !== undefined) expect(digest.hash).toBe(digestHash(serverId, digest));

    const period = { since: `${date}T00:00:00Z`, until: `${addDays(date, 1)}T00:00:00Z` };
    const account = server.account(accountNumber);
    const transactions = await account.transactions(period).toArray();
    const deals = await account.deals(period).toArray();
    const book = { accountNumber, transactions, deals, closingBalance: "61.80" };
    expect(await server.reconcile(date, [book])).toMatchObject({ differences: [] });

    const wrong = { ...book, deals: deals.map((deal) => Object.assign({}, deal, { swap: "-0.01" })) };
    const { differences } = await server.reconcile(date, [wrong]);
    expect(differences).toEqual([
      {
        accountNumber,
        field: "deals.swap",
        book: "-0.01",
        kapi: "0.00",
        record: { kind: "deals", id: `D-${accountNumber}`, field: "swap", book: "-0.01", kapi: "0.00" },
      },
    ]);
  });

  it("are refused for a day that is not over or not in the calendar, and not found for a day before the first digests", async () => {
    const server = kapi.server(system.demo.serverId);
    const today = utcDay(Date.now());
    await expect(server.digests({ date: today }).toArray()).rejects.toThrow(InvalidRequestError);
    await expect(server.digests({ date: addDays(today, 1) }).toArray()).rejects.toThrow("date: must be a day");
    await expect(server.digests({ date: "2026-02-30" }).toArray()).rejects.toThrow(InvalidRequestError);
    await expect(server.digests({ date: addDays(today, -30) }).toArray()).rejects.toThrow(NotFoundError);
  });

  it("cost one read", async () => {
    const date = addDays(utcDay(Date.now()), -1);
    const path = `/servers/${system.demo.serverId}/digests?date=${date}`;
    const { status, headers } = await new OutsideClient(system.demo).call("GET", path);
    expect(status).toBe(200);
    expect(headers.get("x-credits-charged")).toBe("1");
  });
});
