/** Control API of a market: prices, ticks, rollovers and faults. */
import { randomUUID } from "node:crypto";

import { Guid } from "@kapi/contracts";
import { ApiError, type FastifyInstance, parse } from "@kapi/http";
import { z } from "zod";

import { MAX_FAULTS } from "../../domain/faults.ts";
import { roundPrice, SYMBOLS, type SymbolSpec, symbolSpec } from "../../domain/symbols.ts";
import type { Engine } from "../../operations/engine.ts";
import { rollOver, runTick } from "../../operations/run-market.ts";
import type { TradingServer } from "../../operations/server.ts";
import { setMarketOpen, setPrice } from "../../operations/trade.ts";
import {
  FaultBody,
  MarketBody,
  MovePriceBody,
  SetPriceBody,
  SymbolMarketBody,
  SymbolName,
  TicksBody,
} from "./control-schemas.ts";

const ServerParams = z.object({ serverId: Guid });
const SymbolParams = z.object({ serverId: Guid, symbol: SymbolName });
const FaultParams = z.object({ serverId: Guid, faultId: z.string() });

const SERVER = "/control/v1/servers/:serverId";

/** Registers the routes of markets and faults. `tickIntervalMs`: duration of a requested tick. */
export function registerControlMarketRoutes(app: FastifyInstance, engine: Engine, tickIntervalMs: number): void {
  registerPriceRoutes(app, engine);
  registerMarketRoutes(app, engine, tickIntervalMs);
  registerFaultRoutes(app, engine);
}

function registerPriceRoutes(app: FastifyInstance, engine: Engine): void {
  app.get("/control/v1/symbols", () => ({ symbols: [...SYMBOLS.values()] }));
  app.get("/control/v1/servers", () => ({
    servers: [...engine.servers.values()].map(({ serverId, configuration, accounts }) => ({
      serverId,
      configuration,
      accounts: accounts.size,
    })),
  }));
  app.get(`${SERVER}/prices`, (request) => {
    const { market } = engine.server(parse(ServerParams, request.params).serverId);
    const prices = [...SYMBOLS.keys()].map((symbol) => priceOf(market, symbol));
    return { tick: market.state.tick, paused: market.state.paused, prices };
  });
  app.put(`${SERVER}/prices/:symbol`, async (request) => {
    const { serverId, symbol } = parse(SymbolParams, request.params);
    const { hold, ...given } = parse(SetPriceBody, request.body);
    const spec = symbolSpec(symbol);
    const bid = roundedPrice(spec, given.bid);
    const ask = roundedPrice(spec, given.ask ?? bid + spec.spreadPoints * 10 ** -spec.digits);
    if (ask < bid) throw new ApiError("VALIDATION_FAILED", { text: "the ask is below the bid" });
    const server = engine.server(serverId);
    await setPrice(engine, server, symbol, { bid, ask, held: hold });
    return priceOf(server.market, symbol);
  });
  app.post(`${SERVER}/prices/:symbol/move`, async (request) => {
    const { serverId, symbol } = parse(SymbolParams, request.params);
    const move = parse(MovePriceBody, request.body);
    const server = engine.server(serverId);
    const spec = symbolSpec(symbol);
    const before = server.market.quote(symbol);
    const by = "points" in move ? move.points * 10 ** -spec.digits : (before.bid * move.percent) / 100;
    const [bid, ask] = [roundedPrice(spec, before.bid + by), roundedPrice(spec, before.ask + by)];
    const held = move.hold ?? server.market.isHeld(symbol);
    await setPrice(engine, server, symbol, { bid, ask, held });
    return priceOf(server.market, symbol);
  });
  app.put(`${SERVER}/prices/:symbol/market`, async (request) => {
    const { serverId, symbol } = parse(SymbolParams, request.params);
    const { open } = parse(SymbolMarketBody, request.body);
    const server = engine.server(serverId);
    await setMarketOpen(engine, server, symbol, open);
    return { symbol, open };
  });
  app.post(`${SERVER}/prices/:symbol/release`, async (request) => {
    const { serverId, symbol } = parse(SymbolParams, request.params);
    const server = engine.server(serverId);
    await setPrice(engine, server, symbol, { ...server.market.quote(symbol), held: false });
    return priceOf(server.market, symbol);
  });
}

function registerMarketRoutes(app: FastifyInstance, engine: Engine, tickIntervalMs: number): void {
  app.put(`${SERVER}/market`, async (request) => {
    const server = engine.server(parse(ServerParams, request.params).serverId);
    server.market.pause(parse(MarketBody, request.body).paused);
    engine.committer.storeServer(server);
    await engine.committer.stored();
    return { paused: server.market.state.paused, tick: server.market.state.tick };
  });
  app.post(`${SERVER}/market/ticks`, async (request) => {
    const server = engine.server(parse(ServerParams, request.params).serverId);
    const { count } = parse(TicksBody, request.body ?? undefined);
    for (let tick = 0; tick < count; tick += 1) {
      engine.committer.rejectWhenFull();
      runTick(engine, server, tickIntervalMs);
    }
    await engine.committer.stored();
    return { tick: server.market.state.tick };
  });
  app.post(`${SERVER}/rollover`, async (request) => {
    const server = engine.server(parse(ServerParams, request.params).serverId);
    engine.committer.rejectWhenFull();
    const accounts = rollOver(engine, server);
    await engine.committer.stored();
    return { accounts };
  });
}

function registerFaultRoutes(app: FastifyInstance, engine: Engine): void {
  app.get(`${SERVER}/faults`, (request) => ({
    faults: engine.server(parse(ServerParams, request.params).serverId).faults.list(),
  }));
  app.post(`${SERVER}/faults`, (request, reply) => {
    const server = engine.server(parse(ServerParams, request.params).serverId);
    const { count, ...fault } = parse(FaultBody, request.body);
    const added = { id: randomUUID(), ...fault, remaining: count };
    if (!server.faults.add(added)) {
      throw new ApiError("VALIDATION_FAILED", { text: `a server has at most ${MAX_FAULTS} faults` });
    }
    return reply.code(201).send(added);
  });
  app.delete(`${SERVER}/faults`, (request) => ({
    cleared: engine.server(parse(ServerParams, request.params).serverId).faults.clear(),
  }));
  app.delete(`${SERVER}/faults/:faultId`, (request) => {
    const { serverId, faultId } = parse(FaultParams, request.params);
    const cleared = engine.server(serverId).faults.clear(faultId);
    if (cleared === 0) throw new ApiError("NOT_FOUND");
    return { cleared };
  });
}

/** Rounds a price to the decimals of its symbol. Throws 400 if the price is then not above 0. */
function roundedPrice(spec: SymbolSpec, price: number): number {
  const rounded = roundPrice(spec, price);
  if (rounded > 0) return rounded;
  const lowest = (10 ** -spec.digits).toFixed(spec.digits);
  const text = `the price ${price} is below ${lowest}, the lowest price of ${spec.name}`;
  throw new ApiError("VALIDATION_FAILED", { text });
}

function priceOf(market: TradingServer["market"], symbol: string) {
  const { bid, ask } = market.quote(symbol);
  return { symbol, bid, ask, held: market.isHeld(symbol) };
}
