import { randomUUID } from "node:crypto";

import type { Deal, Order, Position, TradingEvent } from "@kapi/contracts";
import { statement } from "@kapi/postgres";
import { accountCreated, anyAccountNumber, eventEnvelope, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { deleteHistory } from "../src/outbound/postgres/delete-history.ts";
import { HistoryHarness } from "./history-harness.ts";

const FORGET_OPENED = statement(
  "test-forget-opened",
  "update positions set opened_volume = null where server_id = $1 and account_number = $2",
);
const EURUSD = { symbol: "EURUSD", side: "buy" } as const;

describe("the history of an account", () => {
  let env: HistoryHarness;
  beforeAll(async () => {
    env = await HistoryHarness.create();
  });
  afterAll(async () => {
    await env.stop();
  });

  async function all<T>(accountNumber: string, list: "orders" | "positions" | "deals", query = ""): Promise<T[]> {
    const { status, body } = await env.get(accountNumber, `/${list}?limit=100${query}`);
    expect(status).toBe(200);
    return body[list];
  }

  it("keeps the time of each partial close and of the final close", async () => {
    const account = await env.openAccount();
    const { positionId } = await env.trade("POST", account, "/orders", { ...EURUSD, volume: 1 });
    for (const volume of [0.3, 0.2]) {
      await env.trade("POST", account, `/positions/${positionId}/close`, { volume });
      const closedAtMs = Date.now();
      await eventually(() => Date.now() > closedAtMs);
    }
    await env.booked(account);
    const [open] = await all<Position>(account, "positions");
    expect(open).toMatchObject({ id: positionId, volume: 1, closedVolume: 0.5, status: "open", closedAt: null });
    await env.trade("POST", account, `/positions/${positionId}/close`);
    await env.booked(account);

    const { events } = await env.client.history(env.serverId, account, 0, 100);
    const published = events.flatMap((event) => (event.type === "deal.executed" ? [event.deal] : [])).toReversed();
    const deals = await all<Deal>(account, "deals");
    expect(deals.map(({ kind, volume }) => [kind, volume])).toEqual([
      ["exit", 0.5],
      ["partial_close", 0.2],
      ["partial_close", 0.3],
      ["entry", 1],
    ]);
    expect(deals.map(({ id, executedAt }) => [id, executedAt])).toEqual(
      published.map(({ id, executedAt }) => [id, executedAt]),
    );
    expect(new Set(deals.map(({ executedAt }) => executedAt)).size).toBe(4);
    expect(deals.map(({ realizedPnl, commission, swap }) => [realizedPnl, commission, swap])).toEqual(
      published.map((deal) => [deal.realizedPnlMinor / 100, deal.commissionMinor / 100, deal.swapMinor / 100]),
    );
    const [closed] = await all<Position>(account, "positions");
    const whole = { volume: 1, closedVolume: 1 };
    expect(closed).toMatchObject({ id: positionId, ...whole, status: "closed", closedAt: deals[0]?.executedAt });
    expect(await all(account, "positions", "&status=open")).toEqual([]);
    expect(await all(account, "positions", "&status=closed")).toEqual([closed]);
    const { records } = (await env.get(account, "/history?limit=100")).body;
    expect(records.find(({ kind }: { kind: string }) => kind === "position")).toEqual({ kind: "position", ...closed });
    // A process of release 0.1.0 writes the row without `opened_volume`.
    await env.database.query(FORGET_OPENED, [env.serverId, account]);
    expect(await all(account, "positions", "&status=closed")).toEqual([closed]);
  });

  it("shows pending, executed and cancelled orders", async () => {
    const account = await env.openAccount();
    await env.control("PUT", "/prices/EURUSD", { bid: 1.1, ask: 1.1001, hold: true });
    const stop = await env.trade("POST", account, "/orders", {
      ...EURUSD,
      volume: 0.1,
      orderType: "stop",
      price: 1.15,
    });
    const limit = await env.trade("POST", account, "/orders", {
      ...EURUSD,
      volume: 0.1,
      orderType: "limit",
      price: 1.05,
    });
    const placed = [limit, stop].map(({ order }: { order: { id: string } }) => order.id);
    await env.booked(account);
    const waiting = await all<Order>(account, "orders");
    expect(waiting.map(({ id, status, executedAt }) => [id, status, executedAt])).toEqual(
      placed.map((id) => [id, "placed", null]),
    );
    await env.control("PUT", "/prices/EURUSD", { bid: 1.16, ask: 1.1601, hold: true });
    await env.trade("DELETE", account, `/orders/${placed[0]}`);
    await env.booked(account);
    const after = await all<Order>(account, "orders");
    expect(after.map(({ id, status }) => [id, status])).toEqual([
      [placed[0], "cancelled"],
      [placed[1], "executed"],
    ]);
    expect(after[1]?.createdAt).toBe(waiting[1]?.createdAt);
    expect(after[1]?.executedAt).not.toBeNull();
    expect(await all(account, "positions", "&status=open")).toHaveLength(1);
  });

  it("publishes each event once, without a gap, with the record as reads show it", async () => {
    const account = await env.openAccount();
    const { positionId } = await env.trade("POST", account, "/orders", { ...EURUSD, volume: 1 });
    await env.trade("POST", account, `/positions/${positionId}/close`, { volume: 0.4 });
    await env.trade("POST", account, `/positions/${positionId}/close`);
    const accountEvents = await eventually(() => env.eventsOf(account).length >= 9 && env.eventsOf(account));
    expect(accountEvents.map(({ accountSequence }) => accountSequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(accountEvents.map(({ type }) => type)).toEqual([
      "order.executed",
      "deal.executed",
      "position.opened",
      "order.executed",
      "deal.executed",
      "position.updated",
      "order.executed",
      "deal.executed",
      "position.closed",
    ]);
    const deals = await all<Deal>(account, "deals");
    expect(accountEvents.flatMap((event) => ("deal" in event ? [event.deal] : [])).toReversed()).toEqual(deals);
    const positions = accountEvents.flatMap((event) => ("position" in event ? [event.position] : []));
    expect(positions.flatMap(({ volume, closedVolume }) => [volume, closedVolume])).toEqual([1, 0, 1, 0.4, 1, 1]);
    const [position] = await all<Position>(account, "positions");
    expect(accountEvents.at(-1)).toMatchObject({
      organizationId: env.organizationId,
      position,
      dealIds: deals.map(({ id }) => id).toReversed(),
      openPositionCount: 0,
    });
  });

  it("publishes the margin call and the stop-out, and shows no open position after them", async () => {
    const account = await env.openAccount({ balanceMinor: 200_000 });
    await env.control("PUT", "/prices/GBPUSD", { bid: 1.25, ask: 1.2501, hold: true });
    await env.trade("POST", account, "/orders", { symbol: "GBPUSD", side: "buy", volume: 1 });
    await env.control("PUT", "/prices/GBPUSD", { bid: 1.24, ask: 1.2401, hold: true });
    await env.control("PUT", "/prices/GBPUSD", { bid: 1.23, ask: 1.2301, hold: true });
    await env.booked(account);
    expect(await all(account, "positions", "&status=open")).toEqual([]);
    const types = await eventually(() => {
      const published = env.eventsOf(account).map(({ type }) => type);
      return published.includes("position.closed") && published;
    });
    expect(types).toContain("margin.call");
    expect(types).toContain("margin.stop_out");
  });

  it("books repeated events once, and keeps the microseconds of their times", async () => {
    const serverId = randomUUID();
    await env.makeServer(serverId);
    const accountNumber = anyAccountNumber();
    await env.makeKnown(accountNumber, serverId);
    const executedAt = "2026-11-05T10:20:30.123456Z";
    const name = { serverId, accountNumber };
    const events: TradingEvent[] = [
      accountCreated({ ...name, sequence: 1 }),
      {
        ...eventEnvelope({ ...name, sequence: 2 }),
        type: "deal.executed",
        deal: {
          id: "d-1",
          orderId: "o-1",
          positionId: "p-1",
          symbol: "EURUSD",
          side: "buy",
          kind: "entry",
          volume: 0.07,
          price: 1.234567,
          realizedPnlMinor: 0,
          commissionMinor: -7,
          swapMinor: 0,
          executedAt,
        },
      },
    ];
    await env.publish(...events, ...events);
    await env.stopConsumer();
    await env.startConsumer();
    await env.publish(...events);
    const deal = { id: "d-1", volume: 0.07, price: 1.234567, commission: -0.07, realizedPnl: 0, swap: 0, executedAt };
    await eventually(async () => {
      const { body } = await env.get(accountNumber, "/deals", serverId);
      expect(body.deals).toMatchObject([deal]);
      expect(body.pagination.total).toBe(1);
    });
    await eventually(() => expect(env.eventsOf(accountNumber)).toHaveLength(1));
  });

  it("is booked once by two concurrent event feeds", async () => {
    const account = await env.openAccount();
    await env.booked(account);
    await env.stopConsumer();
    const ids = [];
    for (let index = 0; index < 10; index += 1) {
      ids.unshift((await env.trade("POST", account, "/orders", { ...EURUSD, volume: 0.01 })).positionId);
    }
    const { events } = await env.client.history(env.serverId, account, 0, 100);
    const other = await env.anotherFeed();
    const outcomes = await Promise.all(
      events.flatMap((event) => [env.history.queue.book(event), other.queue.book(event)]),
    );
    expect(outcomes.filter((outcome) => outcome === "booked")).toHaveLength(30);
    expect((await all<Position>(account, "positions")).map(({ id }) => id)).toEqual(ids);
    await env.startConsumer();
    await eventually(() => expect(env.eventsOf(account)).toHaveLength(30));
  });

  it("recovers from lost events by itself", async () => {
    const account = await env.openAccount();
    await env.booked(account);
    await env.stopConsumer();
    await env.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
    const { events } = await env.client.history(env.serverId, account, 0, 100);
    const last = events.at(-1);
    if (last === undefined) throw new Error("no events");
    // Only the last event arrives, as if the log had lost the earlier events.
    expect(await env.history.queue.book(last)).toBe("gap");
    await env.booked(account);
    expect(await all(account, "deals")).toHaveLength(1);
    await eventually(async () => (await env.gaps()).length === 0);
    await env.startConsumer();
    const accountEvents = await eventually(() => env.eventsOf(account).length >= 3 && env.eventsOf(account));
    expect(accountEvents.map(({ accountSequence }) => accountSequence)).toEqual([1, 2, 3]);
  });

  it("books the events of an account that was not known when they arrived", async () => {
    const account = await env.openAccount({ known: false });
    await env.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
    await eventually(async () =>
      (await env.gaps()).some((gap) => gap.account_number === account && gap.needed_sequence === 4),
    );
    expect((await env.get(account, "/deals")).status).toBe(404);
    await env.makeKnown(account);
    await env.booked(account);
    expect(await all(account, "deals")).toHaveLength(1);
    expect(await all(account, "positions", "&status=open")).toHaveLength(1);
  });

  it("shows fresh open positions even while trading.events is not read", async () => {
    const account = await env.openAccount();
    await env.booked(account);
    await env.stopConsumer();
    const positions = [];
    for (let index = 0; index < 3; index += 1) {
      const { positionId } = await env.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
      positions.unshift(positionId);
      const { body } = await env.get(account, "/positions?status=open&limit=100");
      expect(body.positions.map(({ id }: Position) => id)).toEqual(positions);
      expect(body.pagination.total).toBe(index + 1);
    }
    await env.trade("POST", account, `/positions/${positions[1]}/close`);
    expect((await env.get(account, "/positions?status=open&limit=1")).body.pagination.total).toBe(2);
    await env.trade("POST", account, `/positions/${positions[0]}/close`);
    const { body } = await env.get(account, "/history?limit=3");
    expect(body.records.map(({ kind }: { kind: string }) => kind)).toEqual(["order", "deal", "order"]);
    await env.startConsumer();
  });

  it("rejects the list of open positions and the read for an export, but not the other lists, if the account's last sequence cannot be read", async () => {
    const account = await env.openAccount();
    await env.booked(account);
    const fault = { kind: "unreachable", accountNumber: account, operation: "sequence", count: null };
    await env.control("POST", "/faults", fault);
    const refused = await env.get(account, "/positions?status=open");
    expect(refused.status).toBe(500);
    expect((await env.get(account, "/history?limit=1")).status).toBe(500);
    expect((await env.get(account, "/positions")).status).toBe(200);
    expect((await env.get(account, "/deals")).status).toBe(200);
    await env.control("DELETE", "/faults");
    expect((await env.get(account, "/positions?status=open")).status).toBe(200);
  });

  it("rejects a read of open positions if the trading server does not answer within two seconds", async () => {
    const account = await env.openAccount();
    await env.control("POST", "/faults", {
      kind: "delay",
      accountNumber: account,
      operation: "sequence",
      delayMs: 10_000,
      count: 1,
    });
    const began = performance.now();
    expect((await env.get(account, "/positions?status=open")).status).toBe(500);
    expect(performance.now() - began).toBeLessThan(2_900);
    await env.control("DELETE", "/faults");
  });

  it("stays deleted despite late events", async () => {
    const account = await env.openAccount();
    await env.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
    await env.booked(account);
    const { events } = await env.client.history(env.serverId, account, 0, 100);
    await env.setStatus(account, "deleting");
    expect((await env.get(account, "/deals")).status).toBe(404);
    await deleteHistory(env.database, env.serverId, account);
    await deleteHistory(env.database, env.serverId, account);
    for (const [status, booking] of Object.entries({ deleting: "duplicate", deleted: "dropped" })) {
      await env.setStatus(account, status);
      env.history.queue.forget({ serverId: env.serverId, accountNumber: account });
      const bookings = await Promise.all(events.map((event) => env.history.queue.book(event)));
      expect(bookings).toEqual(events.map(() => booking));
    }
    await env.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
    for (const path of ["/orders", "/positions", "/positions?status=open", "/deals", "/history?limit=1"]) {
      expect((await env.get(account, path)).status).toBe(404);
    }
    expect(await env.rows(account)).toMatchObject({ orders: null, positions: null, deals: null });
  });

  it("answers 404 for an unknown account, an empty page for an account without history, 400 for an invalid parameter", async () => {
    for (const path of ["/orders", "/positions", "/positions?status=open", "/deals", "/history?limit=1"]) {
      expect((await env.get("99999999", path)).status).toBe(404);
    }
    const account = anyAccountNumber();
    await env.makeKnown(account);
    expect((await env.get(account, "/positions?status=open")).body).toEqual({
      positions: [],
      pagination: { page: 1, limit: 20, total: 0, totalPages: 0, nextCursor: null },
    });
    expect((await env.get(account, "/deals?page=999999999999999&limit=100")).body.deals).toEqual([]);
    for (const [path, field] of [
      ["/deals?limit=101", "limit"],
      ["/orders?page=0", "page"],
      ["/positions?status=closing", "status"],
      ["/history?limit=1002", "limit"],
      ["/history?limit=1&from=yesterday", "from"],
    ]) {
      const { status, body } = await env.get(account, path ?? "");
      expect([status, body.issues?.[0]?.path]).toEqual([400, [field]]);
    }
  });

  it("has every record on exactly one page, newest first", async () => {
    const account = await env.openAccount();
    const opened = [];
    for (let index = 0; index < 23; index += 1) {
      opened.push((await env.trade("POST", account, "/orders", { ...EURUSD, volume: 0.01 })).positionId);
    }
    for (const [index, id] of opened.entries()) {
      if (index % 3 !== 0) await env.trade("POST", account, `/positions/${id}/close`);
    }
    await env.booked(account);
    const lists = ["/orders?", "/positions?", "/positions?status=open&", "/positions?status=closed&", "/deals?"];
    for (const list of lists) {
      const key = /\w+/.exec(list)?.[0] ?? "";
      const whole = (await env.get(account, `${list}limit=100`)).body;
      const ids = whole[key].map(({ id }: { id: string }) => id);
      const times = whole[key].map(
        (record: Record<string, string>) => record["createdAt"] ?? record["openedAt"] ?? record["executedAt"],
      );
      expect(times).toEqual(times.toSorted().toReversed());
      expect(whole.pagination.total).toBe(ids.length);
      expect(new Set(ids).size).toBe(ids.length);
      for (const limit of [1, 3, 7]) {
        const paged = [];
        for (let page = 1; page <= Math.ceil(ids.length / limit); page += 1) {
          const { body } = await env.get(account, `${list}limit=${limit}&page=${page}`);
          expect(body.pagination).toEqual({
            nextCursor: page * limit < ids.length ? expect.any(String) : null,
            page,
            limit,
            total: ids.length,
            totalPages: Math.ceil(ids.length / limit),
          });
          paged.push(...body[key].map(({ id }: { id: string }) => id));
        }
        expect(paged).toEqual(ids);
        expect((await env.get(account, `${list}limit=${limit}&page=${ids.length + 1}`)).body[key]).toEqual([]);
      }
    }
  });

  it("gives an export the newest records of all kinds; `from` and `to` include their whole millisecond", async () => {
    const account = await env.openAccount();
    for (let index = 0; index < 4; index += 1) {
      const { positionId } = await env.trade("POST", account, "/orders", { ...EURUSD, volume: 0.01 });
      await env.trade("POST", account, `/positions/${positionId}/close`);
    }
    await env.addMicroseconds(account);
    const timeOf = (record: Record<string, string>): string =>
      record["createdAt"] ?? record["openedAt"] ?? record["executedAt"] ?? "";
    const millisecondOf = (record: Record<string, string>): number => Date.parse(timeOf(record));
    const { records } = (await env.get(account, "/history?limit=1000")).body;
    expect(records).toHaveLength(8 + 4 + 8);
    expect(records.map(millisecondOf)).toEqual(records.map(millisecondOf).toSorted().toReversed());
    expect((await env.get(account, "/history?limit=5")).body.records).toEqual(records.slice(0, 5));
    const deals = records.filter(({ dealKind }: { dealKind?: string }) => dealKind === "entry" || dealKind === "exit");
    const [to, from] = [deals[1], deals[6]];
    const between = (await env.get(account, `/history?limit=1000&from=${timeOf(from)}&to=${timeOf(to)}`)).body.records;
    const isWithin = (ms: number): boolean => ms >= millisecondOf(from) && ms <= millisecondOf(to);
    expect(between).toEqual(records.filter((record: Record<string, string>) => isWithin(millisecondOf(record))));
  });
});
