/** Control API of an account: the actions of a trader. */
import { AccountNumber, Guid } from "@kapi/contracts";
import { ApiError, type FastifyInstance, type FastifyReply, parse } from "@kapi/http";
import { assertDefined } from "@kapi/kernel";
import { z } from "zod";

import type { Account, PendingOrder, Position } from "../../domain/account.ts";
import { toWireOrder, toWirePosition } from "../../domain/trading-context.ts";
import { normalPrice, type TradeRejection } from "../../domain/order-checks.ts";
import { verifyPassword } from "../../domain/password-hash.ts";
import { closePriceOf } from "../../domain/prices.ts";
import { openProfitMinor } from "../../domain/account-values.ts";
import { lotsFromVolume } from "../../domain/symbols.ts";
import type { OrderResult } from "../../domain/trading.ts";
import type { Engine } from "../../operations/engine.ts";
import { readAccount } from "../../operations/read-account.ts";
import {
  type AccountAt,
  cancelOrderOn,
  closePositionOn,
  modifyOrderOn,
  modifyPositionOn,
  placeOrderOn,
  setAutoTrader,
} from "../../operations/trade.ts";
import {
  AutoTraderBody,
  ClosePositionBody,
  LoginBody,
  ModifyOrderBody,
  ModifyPositionBody,
  PlaceOrderBody,
} from "./control-schemas.ts";

const AccountParams = z.object({ serverId: Guid, accountNumber: AccountNumber });
const ItemParams = z.object({ id: z.string() });

const ACCOUNT = "/control/v1/servers/:serverId/accounts/:accountNumber";

/** Registers the routes of accounts, orders and positions. */
export function registerControlAccountRoutes(app: FastifyInstance, engine: Engine): void {
  registerAccountRoutes(app, engine);
  registerOrderRoutes(app, engine);
  registerPositionRoutes(app, engine);
}

function registerAccountRoutes(app: FastifyInstance, engine: Engine): void {
  app.get(ACCOUNT, (request) => showAccount(accountAt(engine, request.params)));
  app.put(`${ACCOUNT}/auto-trader`, async (request) => {
    const { enabled, ...settings } = parse(AutoTraderBody, request.body);
    await setAutoTrader(accountAt(engine, request.params), enabled ? settings : null);
    return { enabled };
  });
  app.post(`${ACCOUNT}/login`, async (request) => {
    const { account } = accountAt(engine, request.params);
    const { password } = parse(LoginBody, request.body);
    const refused = new ApiError("AUTHENTICATION_REQUIRED", { text: "wrong password, or the account is archived" });
    if (account.status === "archived") throw refused;
    if (await verifyPassword(password, account.tradingPasswordHash)) return { access: "trading" };
    if (await verifyPassword(password, account.investorPasswordHash)) return { access: "investor" };
    throw refused;
  });
}

function registerOrderRoutes(app: FastifyInstance, engine: Engine): void {
  app.get(`${ACCOUNT}/orders`, (request) => ({ orders: ordersOf(accountAt(engine, request.params).account) }));
  app.post(`${ACCOUNT}/orders`, async (request, reply) => {
    const at = accountAt(engine, request.params);
    const body = parse(PlaceOrderBody, request.body);
    const result = await placeOrderOn(at, {
      ...body,
      price: body.orderType === "market" ? null : normalPrice(body.symbol, body.price),
      stopLoss: normalPrice(body.symbol, body.stopLoss),
      takeProfit: normalPrice(body.symbol, body.takeProfit),
    });
    if ("rejection" in result) return sendRejection(reply, result.rejection);
    if (result.done.order.status !== "rejected") return reply.code(201).send(wireResult(result.done));
    const error = "the free margin does not cover the order";
    return reply.code(409).send({ error, reason: result.done.order.reason, order: result.done.order });
  });
  app.patch(`${ACCOUNT}/orders/:id`, async (request, reply) => {
    const at = accountAt(engine, request.params);
    const order = orderOf(at.account, request.params);
    const { price, stopLoss, takeProfit } = parse(ModifyOrderBody, request.body);
    const result = await modifyOrderOn(at, order, {
      price: normalPrice(order.symbol, price),
      stopLoss: normalPrice(order.symbol, stopLoss),
      takeProfit: normalPrice(order.symbol, takeProfit),
    });
    return "rejection" in result ? sendRejection(reply, result.rejection) : { order: wireOrder(result.done) };
  });
  app.delete(`${ACCOUNT}/orders/:id`, async (request, reply) => {
    const at = accountAt(engine, request.params);
    const result = await cancelOrderOn(at, orderOf(at.account, request.params));
    return "rejection" in result ? sendRejection(reply, result.rejection) : { order: result.done };
  });
}

function registerPositionRoutes(app: FastifyInstance, engine: Engine): void {
  app.get(`${ACCOUNT}/positions`, (request) => ({ positions: positionsOf(accountAt(engine, request.params)) }));
  app.patch(`${ACCOUNT}/positions/:id`, async (request, reply) => {
    const at = accountAt(engine, request.params);
    const position = positionOf(at.account, request.params);
    const { stopLoss, takeProfit } = parse(ModifyPositionBody, request.body);
    const result = await modifyPositionOn(at, position, {
      stopLoss: normalPrice(position.symbol, stopLoss),
      takeProfit: normalPrice(position.symbol, takeProfit),
    });
    return "rejection" in result ? sendRejection(reply, result.rejection) : { position: wirePosition(at, result.done) };
  });
  app.post(`${ACCOUNT}/positions/:id/close`, async (request, reply) => {
    const at = accountAt(engine, request.params);
    const position = positionOf(at.account, request.params);
    const { volume } = parse(ClosePositionBody, request.body ?? undefined);
    const result = await closePositionOn(at, position, volume);
    return "rejection" in result ? sendRejection(reply, result.rejection) : wireResult(result.done);
  });
}

async function showAccount(at: AccountAt): Promise<unknown> {
  const account = readAccount(at.engine, at.server, at.account.accountNumber);
  await at.engine.committer.stored();
  const { autoTrader } = at.account;
  const shown =
    autoTrader === null ? null : { ...autoTrader, random: undefined, volume: lotsFromVolume(autoTrader.volume) };
  return { account, autoTrader: shown, positions: positionsOf(at), orders: ordersOf(at.account) };
}

function accountAt(engine: Engine, params: unknown): AccountAt {
  const { serverId, accountNumber } = parse(AccountParams, params);
  const server = engine.server(serverId);
  const account = server.existingAccount(accountNumber);
  if (account === undefined) throw new ApiError("ACCOUNT_NOT_FOUND");
  return { engine, server, account };
}

function orderOf(account: Account, params: unknown): PendingOrder {
  const order = account.orders.get(parse(ItemParams, params).id);
  if (order === undefined) throw new ApiError("NOT_FOUND", { text: "there is no such pending order" });
  return order;
}

function positionOf(account: Account, params: unknown): Position {
  const position = account.positions.get(parse(ItemParams, params).id);
  if (position === undefined) throw new ApiError("NOT_FOUND", { text: "there is no such open position" });
  return position;
}

/** Answers 409 with a text and a code. */
function sendRejection(reply: FastifyReply, { code, message }: TradeRejection): FastifyReply {
  return reply.code(409).send({ error: message, reason: code });
}

function wireResult({ order, position }: OrderResult): unknown {
  if (position === null) return { order, positionId: null };
  return { order, positionId: position.id };
}

function ordersOf(account: Account): unknown[] {
  return Array.from(account.orders.values(), wireOrder);
}

function wireOrder(order: PendingOrder): unknown {
  return toWireOrder(order, { status: "placed", reason: null, positionId: null, executedAtMs: null });
}

function positionsOf(at: AccountAt): unknown[] {
  return Array.from(at.account.positions.values(), (position) => wirePosition(at, position));
}

function wirePosition({ server, account }: AccountAt, position: Position): unknown {
  const { stopLoss, takeProfit, swapMinor, dealIds } = position;
  return {
    ...toWirePosition(position, null),
    stopLoss,
    takeProfit,
    swapMinor,
    profitMinor: openProfitMinor(server.market, account, position),
    currentPrice: closePriceOf(server.market.quote(position.symbol), position.side),
    entryDealId: assertDefined(dealIds[0], "the entry deal of a position"),
  };
}
