/** The positions that were open at a given time, compared with a model of the account. */
import type { OpenPosition, TradingEvent } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { eventEnvelope } from "@kapi/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { HistoryHarness } from "./history-harness.ts";

const NOON_MS = Date.UTC(2026, 4, 1, 12);
const RUNS = 10;
const PROPERTY_TIMEOUT_MS = 60_000;
/** Sizes of the model are integers: hundredths of a lot. */
const SIZE_UNITS_PER_LOT = 100;

/** What happens next: a position is opened, or an open position is closed in part or completely. */
interface Step {
  /** Time since the previous step. */
  readonly delayMs: number;
  readonly opens: boolean;
  /** Index of the position to close among the open positions, modulo their number. */
  readonly choice: number;
  /** Size to open or to close. A size of at least the remaining size closes the position. */
  readonly size: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  delayMs: fc.integer({ min: 0, max: 3 }),
  opens: fc.boolean(),
  choice: fc.nat(20),
  size: fc.integer({ min: 1, max: 12 }),
});

/** A position of the model: its size at opening, and its closes. */
interface Modelled {
  readonly id: string;
  readonly openedMs: number;
  readonly openedSize: number;
  readonly closes: { readonly ms: number; readonly size: number }[];
}

const leftOf = ({ openedSize, closes }: Modelled, atMs = Infinity): number =>
  closes.reduce((left, { ms, size }) => left - (ms <= atMs ? size : 0), openedSize);
const lots = (size: number): number => Math.round(size) / SIZE_UNITS_PER_LOT;

interface History {
  readonly events: TradingEvent[];
  readonly positions: readonly Modelled[];
  readonly lastMs: number;
}

/** The events of a trading server, and the model of its positions. */
function historyOf(account: { serverId: string; accountNumber: string }, steps: readonly Step[]): History {
  const events: TradingEvent[] = [];
  const positions: Modelled[] = [];
  let ms = NOON_MS;
  const envelope = () => eventEnvelope({ ...account, sequence: events.length + 2, occurredAt: toIso(ms) });
  const positionOf = (modelled: Modelled, size: number, closedMs: number | null) => ({
    id: modelled.id,
    orderId: `order-${modelled.id}`,
    symbol: "EURUSD",
    side: "buy" as const,
    volume: lots(size),
    openPrice: 1 + positions.indexOf(modelled) / 1_000,
    status: closedMs === null ? ("open" as const) : ("closed" as const),
    openedAt: toIso(modelled.openedMs),
    closedAt: closedMs === null ? null : toIso(closedMs),
  });
  const addDeal = (modelled: Modelled, kind: "entry" | "exit" | "partial_close", size: number): string => {
    const id = `deal-${events.length}`;
    events.push({
      ...envelope(),
      type: "deal.executed",
      deal: {
        id,
        orderId: `order-${modelled.id}`,
        positionId: modelled.id,
        symbol: "EURUSD",
        side: "buy",
        kind,
        volume: lots(size),
        price: 1,
        realizedPnlMinor: 0,
        commissionMinor: 0,
        swapMinor: 0,
        executedAt: toIso(ms),
      },
    });
    return id;
  };
  for (const { delayMs, opens, choice, size } of steps) {
    ms += delayMs;
    const open = positions.filter((position) => leftOf(position) > 0);
    const chosen = open[choice % Math.max(1, open.length)];
    if (opens || chosen === undefined) {
      const modelled = { id: `position-${positions.length}`, openedMs: ms, openedSize: size, closes: [] };
      positions.push(modelled);
      addDeal(modelled, "entry", size);
      events.push({ ...envelope(), type: "position.opened", position: positionOf(modelled, size, null) });
    } else {
      const left = leftOf(chosen);
      const closed = Math.min(size, left);
      chosen.closes.push({ ms, size: closed });
      const dealId = addDeal(chosen, closed === left ? "exit" : "partial_close", closed);
      events.push(
        closed === left
          ? // The trading server reports the volume before the close.
            { ...envelope(), type: "position.closed", position: positionOf(chosen, left, ms), dealIds: [dealId] }
          : { ...envelope(), type: "position.updated", position: positionOf(chosen, left - closed, null) },
      );
    }
  }
  return { events, positions, lastMs: ms };
}

describe("the positions that were open at a time", () => {
  let env: HistoryHarness;
  beforeAll(async () => {
    env = await HistoryHarness.create();
  });
  afterAll(() => env.stop());

  const openAt = (account: string, at: string) => env.get(account, `/open-positions?at=${encodeURIComponent(at)}`);

  /** Opens an account, and books the events of `steps` after its creation. */
  async function accountWith(steps: readonly Step[]): Promise<History & { readonly account: string }> {
    const account = await env.openAccount();
    await env.booked(account);
    const history = historyOf({ serverId: env.serverId, accountNumber: account }, steps);
    for (const event of history.events) void env.history.queue.book(event, undefined);
    const last = history.events.at(-1);
    if (last !== undefined) await env.history.queue.book(last, undefined);
    return { ...history, account };
  }

  it(
    "have their volume at opening and the volume closed until then, at every millisecond of a random history",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
          const { account, positions, lastMs } = await accountWith(steps);
          for (let ms = NOON_MS - 1; ms <= lastMs + 1; ms += 1) {
            const { status, body } = await openAt(account, toIso(ms));
            expect(status).toBe(200);
            const expected = positions
              .filter((position) => position.openedMs <= ms && leftOf(position, ms) > 0)
              .map((position) => ({
                id: position.id,
                orderId: `order-${position.id}`,
                symbol: "EURUSD",
                side: "buy",
                volume: lots(position.openedSize),
                closedVolume: lots(position.openedSize - leftOf(position, ms)),
                openPrice: 1 + positions.indexOf(position) / 1_000,
                openedAt: toIso(position.openedMs),
              }))
              .toReversed();
            expect(body, toIso(ms)).toMatchObject({ positionCount: expected.length, positions: expected });
          }
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it("are those of the trading server at that moment, also if their events did not arrive yet", async () => {
    const account = await env.openAccount();
    await env.stopConsumer();
    const { positionId } = await env.trade("POST", account, "/orders", { symbol: "EURUSD", side: "buy", volume: 1 });
    await env.trade("POST", account, `/positions/${positionId}/close`, { volume: 0.3 });
    const { body } = await openAt(account, toIso(Date.now()));
    expect(body).toMatchObject({
      currency: "USD",
      positionCount: 1,
      positions: [{ id: positionId, volume: 1, closedVolume: 0.3 }],
    });
    expect(Date.parse(body.createdAt)).toBeGreaterThan(Date.now() - 60_000);
    await env.startConsumer();
  });

  it("are at most 5,000, the newest first, with the number of all open positions", async () => {
    const opens = Array.from({ length: 5_001 }, () => ({ delayMs: 0, opens: true, choice: 0, size: 1 }));
    const { account } = await accountWith(opens);
    const { body } = await openAt(account, toIso(NOON_MS));
    expect(body.positionCount).toBe(5_001);
    const ids = (body.positions as OpenPosition[]).map(({ id }) => id);
    expect(ids).toHaveLength(5_000);
    expect([ids[0], ids.at(-1)]).toEqual(["position-5000", "position-1"]);
  });

  it("cannot be read for an account that is unknown or being deleted (404), or for an invalid time (400)", async () => {
    const account = await env.openAccount();
    expect((await openAt("99999999", toIso(NOON_MS))).status).toBe(404);
    expect((await openAt(account, "yesterday")).status).toBe(400);
    await env.setStatus(account, "deleting");
    expect((await openAt(account, toIso(NOON_MS))).status).toBe(404);
  });

  it("do not include a position whose close is earlier than its opening; booking its events does not fail", async () => {
    const account = await env.openAccount();
    await env.booked(account);
    const envelope = (sequence: number) => eventEnvelope({ serverId: env.serverId, accountNumber: account, sequence });
    const position = {
      id: "position-0",
      orderId: "order-0",
      symbol: "EURUSD",
      side: "buy" as const,
      volume: 1,
      openPrice: 1,
      openedAt: toIso(NOON_MS),
    };
    const opened = { ...position, status: "open" as const, closedAt: null };
    const closed = { ...position, status: "closed" as const, closedAt: toIso(NOON_MS - 5_000) };
    void env.history.queue.book({ ...envelope(2), type: "position.opened", position: opened }, undefined);
    await env.history.queue.book({ ...envelope(3), type: "position.closed", position: closed, dealIds: [] }, undefined);
    expect((await openAt(account, toIso(NOON_MS))).body).toMatchObject({ positionCount: 0, positions: [] });
  });
});
