import { AccountNumber, Guid, QuotesQuery } from "@kapi/contracts";
import { ApiError, type FastifyInstance, type FastifyReply, parse } from "@kapi/http";
import { ChangesRequest, HistoryQuery, ServerConfiguration, SettlementsRequest } from "@kapi/trading-server";
import { z } from "zod";

import type { ContractOperations } from "../contract-operations.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const ServerParams = z.object({ serverId: Guid });
const AccountParams = z.object({ serverId: Guid, accountNumber: AccountNumber });

/** If {@link ContractOperations} throw it, the connection is closed without an answer. */
export class AnswerLost extends Error {}

/**
 * Registers the routes below `/v1/servers`. They check no token: the caller registers that check
 * first.
 */
export function registerContractRoutes(app: FastifyInstance, operations: ContractOperations): void {
  registerChangeRoutes(app, operations);
  registerReadRoutes(app, operations);
}

function registerChangeRoutes(app: FastifyInstance, operations: ContractOperations): void {
  app.put("/v1/servers/:serverId/configuration", (request, reply) => {
    const { serverId } = parse(ServerParams, request.params);
    const configuration = parse(ServerConfiguration, request.body);
    return answer(reply, async () => {
      await operations.configure(serverId, configuration);
      return "{}";
    });
  });

  app.post("/v1/servers/:serverId/changes", (request, reply) => {
    const { serverId } = parse(ServerParams, request.params);
    const { changes } = parse(ChangesRequest, request.body);
    return answer(reply, async () => {
      const submitted = changes.map((body) => ({ body }));
      return outcomesText(await operations.change(serverId, submitted));
    });
  });

  app.post("/v1/servers/:serverId/settlements", (request, reply) => {
    const { serverId } = parse(ServerParams, request.params);
    const { references } = parse(SettlementsRequest, request.body);
    return answer(reply, async () => outcomesText(await operations.settle(serverId, references)));
  });
}

function registerReadRoutes(app: FastifyInstance, operations: ContractOperations): void {
  app.get("/v1/servers/:serverId/accounts/:accountNumber", (request, reply) => {
    const { serverId, accountNumber } = parse(AccountParams, request.params);
    return answer(reply, async () => {
      const account = found(await operations.snapshot(serverId, accountNumber));
      return JSON.stringify({ account });
    });
  });
  app.get("/v1/servers/:serverId/accounts/:accountNumber/sequence", (request, reply) => {
    const { serverId, accountNumber } = parse(AccountParams, request.params);
    return answer(reply, async () => {
      const sequence = found(await operations.lastSequence(serverId, accountNumber));
      return JSON.stringify({ sequence });
    });
  });
  app.get("/v1/servers/:serverId/accounts/:accountNumber/history", (request, reply) => {
    const { since, limit } = parse(HistoryQuery, request.query);
    const { serverId, accountNumber } = parse(AccountParams, request.params);
    return answer(reply, async () => {
      const { events, lastSequence } = found(await operations.history(serverId, accountNumber, since, limit));
      return `{"events":[${events.join(",")}],"lastSequence":${lastSequence}}`;
    });
  });
  app.get("/v1/servers/:serverId/quotes", (request, reply) => {
    const { symbols, at } = parse(QuotesQuery, request.query);
    const { serverId } = parse(ServerParams, request.params);
    return answer(reply, async () => {
      const quotes = await operations.quotes(serverId, symbols, Date.parse(at));
      if (quotes === null) throw new ApiError("NOT_FOUND", { text: "this trading server gives no quotes" });
      return JSON.stringify({ quotes });
    });
  });
}

function found<T>(value: T | null): T {
  if (value === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  return value;
}

function outcomesText(outcomes: readonly string[]): string {
  return `{"outcomes":[${outcomes.join(",")}]}`;
}

/** Sends the result of `work` (JSON text). */
async function answer(reply: FastifyReply, work: () => Promise<string>): Promise<FastifyReply> {
  let text: string;
  try {
    text = await work();
  } catch (error) {
    if (!(error instanceof AnswerLost)) throw error;
    reply.hijack();
    reply.raw.destroy();
    return reply;
  }
  return reply.type(JSON_TYPE).send(text);
}
