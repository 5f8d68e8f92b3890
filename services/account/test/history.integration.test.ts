import { randomUUID } from "node:crypto";

import type { Deal, Order, Position, TradingEvent } from "@kapi/contracts";
import { statement } from "@kapi/postgres";
import { accountCreated, anyAccountNumber, eventEnvelope, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { deleteHistory } from "../src/outbound/postgres/delete-history.ts";
import { HistoryWorld } from "./history-world.ts";

const FORGET_OPENED = statement(
  "test-forget-opened",
  "update positions set opened_volume = null where server_id = $1 and account_number = $2",
);
const EURUSD = { symbol: "EURUSD", side: "buy" } as const;

describe("the history of an account", () => {
  let world: HistoryWorld;
  beforeAll(async () => {
    world = await HistoryWorld.create();
  });
  afterAll(async () => {
    await world.stop();
  });

  async function all<T>(accountNumber: string, list: "orders" | "positions" | "deals", query = ""): Promise<T[]> {
    const { status, body } = await world.get(accountNumber, `/${list}?limit=100${query}`);
    expect(status).toBe(200);
    return body[list];
  }

  it("each partial close keeps its own time, and the position tells when it was closed for good", async () => {
    const account = await world.openAccount();
    const { positionId } = await world.trade("POST", account, "/orders", { ...EURUSD, volume: 1 });
    for (const volume of [0.3, 0.2]) {
      await world.trade("POST", account, `/positions/${positionId}/close`, { volume });
      const closedAtMs = Date.now();
      await eventually(() => Date.now() > closedAtMs);
    }
    await world.booked(account);
    const [open] = await all<Position>(account, "positions");
    expect(open).toMatchObject({ id: positionId, volume: 1, closedVolume: 0.5, status: "open", closedAt: null });
    await world.trade("POST", account, `/positions/${positionId}/close`);
    await world.booked(account);

    const { events } = await world.client.history(world.serverId, account, 0, 100);
    const told = events.flatMap((event) => (event.type === "deal.executed" ? [event.deal] : [])).toReversed();
    const deals = await all<Deal>(account, "deals");
    expect(deals.map(({ kind, volume }) => [kind, volume])).toEqual([
      ["exit", 0.5],
      ["partial_close", 0.2],
      ["partial_close", 0.3],
      ["entry", 1],
    ]);
    expect(deals.map(({ id, executedAt }) => [id, executedAt])).toEqual(
      told.map(({ id, executedAt }) => [id, executedAt]),
    );
    expect(new Set(deals.map(({ executedAt }) => executedAt)).size).toBe(4);
    expect(deals.map(({ realizedPnl, commission, swap }) => [realizedPnl, commission, swap])).toEqual(
      told.map((deal) => [deal.realizedPnlMinor / 100, deal.commissionMinor / 100, deal.swapMinor / 100]),
    );
    const [closed] = await all<Position>(account, "positions");
    const whole = { volume: 1, closedVolume: 1 };
    expect(closed).toMatchObject({ id: positionId, ...whole, status: "closed", closedAt: deals[0]?.executedAt });
    expect(await all(account, "positions", "&status=open")).toEqual([]);
    expect(await all(account, "positions", "&status=closed")).toEqual([closed]);
    const { records } = (await world.get(account, "/history?limit=100")).body;
    expect(records.find(({ kind }: { kind: string }) => kind === "position")).toEqual({ kind: "position", ...closed });
    // As a process of 0.1.0 leaves it.
    await world.database.query(FORGET_OPENED, [world.serverId, account]);
    expect(await all(account, "positions", "&status=closed")).toEqual([closed]);
  });

  it("shows orders that wait, are executed by a stop, and are cancelled", async () => {
    const account = await world.openAccount();
    await world.control("PUT", "/prices/EURUSD", { bid: 1.1, ask: 1.1001, hold: true });
    const stop = await world.trade("POST", account, "/orders", {
      ...EURUSD,
      volume: 0.1,
      orderType: "stop",
      price: 1.15,
    });
    const limit = await world.trade("POST", account, "/orders", {
      ...EURUSD,
      volume: 0.1,
      orderType: "limit",
      price: 1.05,
    });
    const placed = [limit, stop].map(({ order }: { order: { id: string } }) => order.id);
    await world.booked(account);
    const waiting = await all<Order>(account, "orders");
    expect(waiting.map(({ id, status, executedAt }) => [id, status, executedAt])).toEqual(
      placed.map((id) => [id, "placed", null]),
    );
    await world.control("PUT", "/prices/EURUSD", { bid: 1.16, ask: 1.1601, hold: true });
    await world.trade("DELETE", account, `/orders/${placed[0]}`);
    await world.booked(account);
    const after = await all<Order>(account, "orders");
    expect(after.map(({ id, status }) => [id, status])).toEqual([
      [placed[0], "cancelled"],
      [placed[1], "executed"],
    ]);
    expect(after[1]?.createdAt).toBe(waiting[1]?.createdAt);
    expect(after[1]?.executedAt).not.toBeNull();
    expect(await all(account, "positions", "&status=open")).toHaveLength(1);
  });

  it("tells each fact once, numbered without a gap, with the record as a read shows it", async () => {
    const account = await world.openAccount();
    const { positionId } = await world.trade("POST", account, "/orders", { ...EURUSD, volume: 1 });
    await world.trade("POST", account, `/positions/${positionId}/close`, { volume: 0.4 });
    await world.trade("POST", account, `/positions/${positionId}/close`);
    const facts = await eventually(() => world.factsOf(account).length >= 9 && world.factsOf(account));
    expect(facts.map(({ accountSequence }) => accountSequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(facts.map(({ type }) => type)).toEqual([
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
    expect(facts.flatMap((fact) => ("deal" in fact ? [fact.deal] : [])).toReversed()).toEqual(deals);
    const positions = facts.flatMap((fact) => ("position" in fact ? [fact.position] : []));
    expect(positions.flatMap(({ volume, closedVolume }) => [volume, closedVolume])).toEqual([1, 0, 1, 0.4, 1, 1]);
    const [position] = await all<Position>(account, "positions");
    expect(facts.at(-1)).toMatchObject({
      organizationId: world.organizationId,
      position,
      dealIds: deals.map(({ id }) => id).toReversed(),
      openPositionCount: 0,
    });
  });

  it("tells of margin call and stop-out, and shows what the stop-out closed", async () => {
    const account = await world.openAccount({ balanceMinor: 200_000 });
    await world.control("PUT", "/prices/GBPUSD", { bid: 1.25, ask: 1.2501, hold: true });
    await world.trade("POST", account, "/orders", { symbol: "GBPUSD", side: "buy", volume: 1 });
    await world.control("PUT", "/prices/GBPUSD", { bid: 1.24, ask: 1.2401, hold: true });
    await world.control("PUT", "/prices/GBPUSD", { bid: 1.23, ask: 1.2301, hold: true });
    await world.booked(account);
    expect(await all(account, "positions", "&status=open")).toEqual([]);
    const types = await eventually(() => {
      const told = world.factsOf(account).map(({ type }) => type);
      return told.includes("position.closed") && told;
    });
    expect(types).toContain("margin.call");
    expect(types).toContain("margin.stop_out");
  });

  it("books nothing twice, however often an event comes, and keeps every microsecond", async () => {
    const serverId = randomUUID();
    await world.makeServer(serverId);
    const accountNumber = anyAccountNumber();
    await world.makeKnown(accountNumber, serverId);
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
    await world.publish(...events, ...events);
    await world.stopConsumer();
    await world.startConsumer();
    await world.publish(...events);
    const deal = { id: "d-1", volume: 0.07, price: 1.234567, commission: -0.07, realizedPnl: 0, swap: 0, executedAt };
    await eventually(async () => {
      const { body } = await world.get(accountNumber, "/deals", serverId);
      expect(body.deals).toMatchObject([deal]);
      expect(body.pagination.total).toBe(1);
    });
    await eventually(() => expect(world.factsOf(accountNumber)).toHaveLength(1));
  });

  it("two processes that book the same events at once make the same records once, and each fact once", async () => {
    const account = await world.openAccount();
    await world.booked(account);
    await world.stopConsumer();
    const ids = [];
    for (let index = 0; index < 10; index += 1) {
      ids.unshift((await world.trade("POST", account, "/orders", { ...EURUSD, volume: 0.01 })).positionId);
    }
    const { events } = await world.client.history(world.serverId, account, 0, 100);
    const other = await world.anotherFeed();
    const outcomes = await Promise.all(
      events.flatMap((event) => [world.history.queue.book(event), other.queue.book(event)]),
    );
    expect(outcomes.filter((outcome) => outcome === "booked")).toHaveLength(30);
    expect((await all<Position>(account, "positions")).map(({ id }) => id)).toEqual(ids);
    await world.startConsumer();
    await eventually(() => expect(world.factsOf(account)).toHaveLength(30));
  });

  it("a lost event parks the account until its history has been fetched, by itself", async () => {
    const account = await world.openAccount();
    await world.booked(account);
    await world.stopConsumer();
    await world.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
    const { events } = await world.client.history(world.serverId, account, 0, 100);
    const last = events.at(-1);
    if (last === undefined) throw new Error("no events");
    // Only the last of them arrives, as if the log had lost those before it.
    expect(await world.history.queue.book(last)).toBe("gap");
    await world.booked(account);
    expect(await all(account, "deals")).toHaveLength(1);
    await eventually(async () => (await world.gaps()).length === 0);
    await world.startConsumer();
    const facts = await eventually(() => world.factsOf(account).length >= 3 && world.factsOf(account));
    expect(facts.map(({ accountSequence }) => accountSequence)).toEqual([1, 2, 3]);
  });

  it("keeps the events of an account that is not known yet until it is", async () => {
    const account = await world.openAccount({ known: false });
    await world.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
    await eventually(async () =>
      (await world.gaps()).some((gap) => gap.account_number === account && gap.needed_sequence === 4),
    );
    expect((await world.get(account, "/deals")).status).toBe(404);
    await world.makeKnown(account);
    await world.booked(account);
    expect(await all(account, "deals")).toHaveLength(1);
    expect(await all(account, "positions", "&status=open")).toHaveLength(1);
  });

  it("open positions are never stale, though nobody reads the topic", async () => {
    const account = await world.openAccount();
    await world.booked(account);
    await world.stopConsumer();
    const positions = [];
    for (let index = 0; index < 3; index += 1) {
      const { positionId } = await world.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
      positions.unshift(positionId);
      const { body } = await world.get(account, "/positions?status=open&limit=100");
      expect(body.positions.map(({ id }: Position) => id)).toEqual(positions);
      expect(body.pagination.total).toBe(index + 1);
    }
    await world.trade("POST", account, `/positions/${positions[1]}/close`);
    expect((await world.get(account, "/positions?status=open&limit=1")).body.pagination.total).toBe(2);
    await world.trade("POST", account, `/positions/${positions[0]}/close`);
    const { body } = await world.get(account, "/history?limit=3");
    expect(body.records.map(({ kind }: { kind: string }) => kind)).toEqual(["order", "deal", "order"]);
    await world.startConsumer();
  });

  it("open positions are refused where the trading server cannot be asked; other lists are not", async () => {
    const account = await world.openAccount();
    await world.booked(account);
    const fault = { kind: "unreachable", accountNumber: account, operation: "sequence", count: null };
    await world.control("POST", "/faults", fault);
    const refused = await world.get(account, "/positions?status=open");
    expect(refused.status).toBe(500);
    expect((await world.get(account, "/history?limit=1")).status).toBe(500);
    expect((await world.get(account, "/positions")).status).toBe(200);
    expect((await world.get(account, "/deals")).status).toBe(200);
    await world.control("DELETE", "/faults");
    expect((await world.get(account, "/positions?status=open")).status).toBe(200);
  });

  it("a slow trading server holds a read of open positions up for two seconds at most", async () => {
    const account = await world.openAccount();
    await world.control("POST", "/faults", {
      kind: "delay",
      accountNumber: account,
      operation: "sequence",
      delayMs: 10_000,
      count: 1,
    });
    const began = performance.now();
    expect((await world.get(account, "/positions?status=open")).status).toBe(500);
    expect(performance.now() - began).toBeLessThan(2_900);
    await world.control("DELETE", "/faults");
  });

  it("what is deleted stays deleted while late events arrive", async () => {
    const account = await world.openAccount();
    await world.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
    await world.booked(account);
    const { events } = await world.client.history(world.serverId, account, 0, 100);
    await world.setStatus(account, "deleting");
    expect((await world.get(account, "/deals")).status).toBe(404);
    await deleteHistory(world.database, world.serverId, account);
    await deleteHistory(world.database, world.serverId, account);
    for (const [status, booking] of Object.entries({ deleting: "repeat", deleted: "dropped" })) {
      await world.setStatus(account, status);
      world.history.queue.forget({ serverId: world.serverId, accountNumber: account });
      const bookings = await Promise.all(events.map((event) => world.history.queue.book(event)));
      expect(bookings).toEqual(events.map(() => booking));
    }
    await world.trade("POST", account, "/orders", { ...EURUSD, volume: 0.1 });
    for (const path of ["/orders", "/positions", "/positions?status=open", "/deals", "/history?limit=1"]) {
      expect((await world.get(account, path)).status).toBe(404);
    }
    expect(await world.rows(account)).toMatchObject({ orders: null, positions: null, deals: null });
  });

  it("404 for an account that never was, an empty page for one without history, 400 with the field's name", async () => {
    for (const path of ["/orders", "/positions", "/positions?status=open", "/deals", "/history?limit=1"]) {
      expect((await world.get("99999999", path)).status).toBe(404);
    }
    const account = anyAccountNumber();
    await world.makeKnown(account);
    expect((await world.get(account, "/positions?status=open")).body).toEqual({
      positions: [],
      pagination: { page: 1, limit: 20, total: 0, totalPages: 0 },
    });
    expect((await world.get(account, "/deals?page=999999999999999&limit=100")).body.deals).toEqual([]);
    for (const [path, field] of [
      ["/deals?limit=101", "limit"],
      ["/orders?page=0", "page"],
      ["/positions?status=closing", "status"],
      ["/history?limit=1002", "limit"],
      ["/history?limit=1&from=yesterday", "from"],
    ]) {
      const { status, body } = await world.get(account, path ?? "");
      expect([status, body.issues?.[0]?.path]).toEqual([400, [field]]);
    }
  });

  it("pages part each list: every record once, newest first, whatever the page length", async () => {
    const account = await world.openAccount();
    const opened = [];
    for (let index = 0; index < 23; index += 1) {
      opened.push((await world.trade("POST", account, "/orders", { ...EURUSD, volume: 0.01 })).positionId);
    }
    for (const [index, id] of opened.entries()) {
      if (index % 3 !== 0) await world.trade("POST", account, `/positions/${id}/close`);
    }
    await world.booked(account);
    const lists = ["/orders?", "/positions?", "/positions?status=open&", "/positions?status=closed&", "/deals?"];
    for (const list of lists) {
      const key = /\w+/.exec(list)?.[0] ?? "";
      const whole = (await world.get(account, `${list}limit=100`)).body;
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
          const { body } = await world.get(account, `${list}limit=${limit}&page=${page}`);
          expect(body.pagination).toEqual({
            page,
            limit,
            total: ids.length,
            totalPages: Math.ceil(ids.length / limit),
          });
          paged.push(...body[key].map(({ id }: { id: string }) => id));
        }
        expect(paged).toEqual(ids);
        expect((await world.get(account, `${list}limit=${limit}&page=${ids.length + 1}`)).body[key]).toEqual([]);
      }
    }
  });

  it("an export gets the newest records of the three kinds together, both times included", async () => {
    const account = await world.openAccount();
    for (let index = 0; index < 4; index += 1) {
      const { positionId } = await world.trade("POST", account, "/orders", { ...EURUSD, volume: 0.01 });
      await world.trade("POST", account, `/positions/${positionId}/close`);
    }
    const timeOf = (record: Record<string, string>): string =>
      record["createdAt"] ?? record["openedAt"] ?? record["executedAt"] ?? "";
    const { records } = (await world.get(account, "/history?limit=1000")).body;
    expect(records).toHaveLength(8 + 4 + 8);
    expect(records.map(timeOf)).toEqual(records.map(timeOf).toSorted().toReversed());
    expect((await world.get(account, "/history?limit=5")).body.records).toEqual(records.slice(0, 5));
    const [from, to] = [timeOf(records[12]), timeOf(records[3])];
    const between = (await world.get(account, `/history?limit=1000&from=${from}&to=${to}`)).body.records;
    expect(between).toEqual(
      records.filter((record: Record<string, string>) => timeOf(record) >= from && timeOf(record) <= to),
    );
    const deal = records.find(({ kind }: { kind: string }) => kind === "deal");
    expect(["entry", "exit"]).toContain(deal.dealKind);
  });
});
