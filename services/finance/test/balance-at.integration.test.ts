/** The balance of an account at a time, compared with a sum over all its events. */
import { randomUUID } from "node:crypto";

import type { TradingEvent } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { accountCreated, anyAccountNumber, balanceChanged, eventually } from "@kapi/testkit";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { Harness } from "./harness.ts";
import { type HistoryServer, startHistoryServer } from "./history-server.ts";

const NOON_MS = Date.UTC(2026, 4, 1, 12);
const RUNS = 10;
const PROPERTY_TIMEOUT_MS = 60_000;

interface Account {
  readonly serverId: string;
  readonly accountNumber: string;
}
/** Milliseconds since the previous event, and the amount in minor units. */
type Movement = readonly [delayMs: number, amountMinor: number];

const movement: fc.Arbitrary<Movement> = fc.tuple(
  // Several movements within a millisecond are frequent.
  fc.integer({ min: 0, max: 3 }),
  fc.integer({ min: -5_000, max: 5_000 }).filter((amount) => amount !== 0),
);

describe("the balance at a time", () => {
  let harness: Harness;
  const standIns: HistoryServer[] = [];
  beforeAll(async () => {
    harness = await Harness.create();
  });
  afterEach(async () => {
    await Promise.all(standIns.splice(0).map((standIn) => standIn.stop()));
  });
  afterAll(() => harness.stop());

  async function balanceAt(
    { serverId, accountNumber }: Account,
    at: string,
  ): Promise<{ status: number; body: unknown }> {
    const query = new URLSearchParams({ at });
    const { status, body } = await harness.call("GET", `${serverId}/accounts/${accountNumber}/balance?${query}`);
    return { status, body };
  }

  /** An account on a stand-in for a trading server. The topic delivers no event of the account. */
  async function accountWith(eventsOf: (account: Account) => TradingEvent[]): Promise<Account> {
    const standIn = await startHistoryServer();
    standIns.push(standIn);
    const account = { serverId: randomUUID(), accountNumber: anyAccountNumber() };
    await harness.publishServer({ ...harness.server, serverId: account.serverId, tradingServerUrl: standIn.url });
    standIn.answer(eventsOf(account));
    // The service knows the new server a moment later.
    await eventually(async () => expect((await balanceAt(account, toIso(NOON_MS))).status).toBe(200));
    return account;
  }

  /** The event of the account's creation with a balance of 1.00, then one event per movement. */
  function events(account: Account, movements: readonly Movement[]): TradingEvent[] {
    let balanceMinor = 100;
    let ms = NOON_MS;
    const created = accountCreated({
      ...account,
      sequence: 1,
      occurredAt: toIso(NOON_MS),
      initialBalanceMinor: balanceMinor,
    });
    const changed = movements.map(([delayMs, amountMinor], index) => {
      balanceMinor += amountMinor;
      ms += delayMs;
      const kind = amountMinor > 0 ? ("deposit" as const) : ("withdrawal" as const);
      const occurredAt = toIso(ms);
      return balanceChanged({ ...account, sequence: index + 2, occurredAt, kind, amountMinor, balanceMinor });
    });
    return [created, ...changed];
  }

  it(
    "is the sum of all movements up to the end of the given millisecond, even if trading.events delivered no event",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(movement, { maxLength: 40 }), async (movements) => {
          const account = await accountWith((name) => events(name, movements));
          let lastMs = NOON_MS;
          const times = movements.map(([delayMs]) => (lastMs += delayMs));
          for (let ms = NOON_MS - 1; ms <= lastMs + 1; ms += 1) {
            const moved = movements.reduce(
              (sum, [, amount], index) => sum + ((times[index] ?? 0) <= ms ? amount : 0),
              0,
            );
            const expected = ms < NOON_MS ? 0 : (100 + moved) / 100;
            expect(await balanceAt(account, toIso(ms)), toIso(ms)).toEqual({
              status: 200,
              body: { balance: expected },
            });
          }
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it("includes what happened within the millisecond, and accepts a time with an offset from UTC", async () => {
    const account = await accountWith((name) => [
      accountCreated({ ...name, sequence: 1, occurredAt: "2026-05-01T12:00:00.000400Z", initialBalanceMinor: 500 }),
      balanceChanged({
        ...name,
        sequence: 2,
        occurredAt: "2026-05-01T12:00:00.000999Z",
        amountMinor: 100,
        balanceMinor: 600,
      }),
      balanceChanged({
        ...name,
        sequence: 3,
        occurredAt: "2026-05-01T12:00:00.001000Z",
        amountMinor: 100,
        balanceMinor: 700,
      }),
    ]);
    const balances = [];
    for (const at of ["2026-05-01T11:59:59.999Z", "2026-05-01T14:00:00.000+02:00", "2026-05-01T12:00:00.001Z"])
      balances.push((await balanceAt(account, at)).body);
    expect(balances).toEqual([{ balance: 0 }, { balance: 6 }, { balance: 7 }]);
  });

  it("is 0 for an account without transactions; the response is 404 after its deletion, and 400 for a malformed time", async () => {
    const account = await accountWith((name) => [accountCreated({ ...name, sequence: 1, initialBalanceMinor: 0 })]);
    expect(await balanceAt(account, toIso(Date.now()))).toEqual({ status: 200, body: { balance: 0 } });
    expect((await balanceAt(account, "yesterday")).status).toBe(400);
    await harness.call("DELETE", `${account.serverId}/accounts/${account.accountNumber}`);
    expect((await balanceAt(account, toIso(Date.now()))).status).toBe(404);
  });

  it("is 500 while the trading server does not answer", async () => {
    const account = await accountWith((name) => events(name, [[1, 100]]));
    await Promise.all(standIns.splice(0).map((standIn) => standIn.stop()));
    expect((await balanceAt(account, toIso(NOON_MS))).status).toBe(500);
  });
});
