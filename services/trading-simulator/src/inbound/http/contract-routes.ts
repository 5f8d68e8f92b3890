/** The trading-server contract over HTTP (`libs/trading-server`), with the injected faults in front of it. */
import { AccountNumber, Guid } from "@kapi/contracts";
import { ApiError, type FastifyInstance, type FastifyReply, parse } from "@kapi/http";
import { delay } from "@kapi/kernel";
import { ChangesRequest, HistoryQuery, ServerConfiguration, SettlementsRequest } from "@kapi/trading-server";
import { z } from "zod";

import { type FaultPlan, planChanges, planRequest } from "../../domain/fault-plan.ts";
import type { FaultOperation } from "../../domain/faults.ts";
import type { Journal } from "../../domain/ports.ts";
import { configureServer } from "../../operations/configure-server.ts";
import type { Engine } from "../../operations/engine.ts";
import { executeChanges, type SubmittedChange } from "../../operations/execute-changes.ts";
import type { LateChanges } from "../../operations/late-changes.ts";
import { readAccount, readHistory, readSequence } from "../../operations/read-account.ts";
import { settleReferences } from "../../operations/settle-references.ts";

export interface ContractRoutesOptions {
  readonly engine: Engine;
  readonly journal: Journal;
  readonly late: LateChanges;
}

const JSON_TYPE = "application/json; charset=utf-8";
const ServerParams = z.object({ serverId: Guid });
const AccountParams = z.object({ serverId: Guid, accountNumber: AccountNumber });

/** Adds the routes under /v1/servers. Their caller has proved itself by the token already. */
export function addContractRoutes(app: FastifyInstance, options: ContractRoutesOptions): void {
  addChangeRoutes(app, options);
  addReadRoutes(app, options);
}

function addChangeRoutes(app: FastifyInstance, { engine, late }: ContractRoutesOptions): void {
  app.put("/v1/servers/:serverId/configuration", async (request, reply) => {
    const { serverId } = parse(ServerParams, request.params);
    const configuration = parse(ServerConfiguration, request.body);
    const faults = engine.servers.get(serverId)?.faults;
    const target = { reference: null, accountNumber: null, operation: "configure" as const };
    const plan = faults === undefined ? NO_FAULT : planRequest(faults, [target]);
    return answerUnder(plan, reply, async () => {
      await configureServer(engine, serverId, configuration);
      return "{}";
    });
  });

  app.post("/v1/servers/:serverId/changes", async (request, reply) => {
    const { serverId } = parse(ServerParams, request.params);
    const { changes } = parse(ChangesRequest, request.body);
    const server = engine.server(serverId);
    const plan = planChanges(server.faults, changes);
    return answerUnder(plan, reply, async () => {
      const now: SubmittedChange[] = [];
      for (const { body, lateMs, refusal } of plan.changes) {
        const change = { reference: body.reference, body, ...(refusal === null ? {} : { refusal }) };
        if (lateMs === null) now.push(change);
        else late.hold(server, change, lateMs);
      }
      return `{"outcomes":[${(await executeChanges(engine, server, now)).join(",")}]}`;
    });
  });

  app.post("/v1/servers/:serverId/settlements", async (request, reply) => {
    const { serverId } = parse(ServerParams, request.params);
    const { references } = parse(SettlementsRequest, request.body);
    const server = engine.server(serverId);
    const targets = references.map((reference) => ({ reference, accountNumber: null, operation: "settle" as const }));
    return answerUnder(planRequest(server.faults, targets), reply, async () => {
      return `{"outcomes":[${(await settleReferences(engine, server, references)).join(",")}]}`;
    });
  });
}

function addReadRoutes(app: FastifyInstance, { engine, journal }: ContractRoutesOptions): void {
  const accountOf = (params: unknown, operation: FaultOperation) => {
    const { serverId, accountNumber } = parse(AccountParams, params);
    const server = engine.server(serverId);
    return { server, accountNumber, plan: planRequest(server.faults, [{ reference: null, accountNumber, operation }]) };
  };
  app.get("/v1/servers/:serverId/accounts/:accountNumber", async (request, reply) => {
    const { server, accountNumber, plan } = accountOf(request.params, "snapshot");
    return answerUnder(plan, reply, async () => {
      const account = await readAccount(engine, server, accountNumber);
      if (account === null) throw new ApiError("ACCOUNT_NOT_FOUND");
      return JSON.stringify({ account });
    });
  });
  app.get("/v1/servers/:serverId/accounts/:accountNumber/sequence", async (request, reply) => {
    const { server, accountNumber, plan } = accountOf(request.params, "sequence");
    return answerUnder(plan, reply, async () => {
      const sequence = await readSequence(engine, server, accountNumber);
      if (sequence === null) throw new ApiError("ACCOUNT_NOT_FOUND");
      return JSON.stringify({ sequence });
    });
  });
  app.get("/v1/servers/:serverId/accounts/:accountNumber/history", async (request, reply) => {
    const { since, limit } = parse(HistoryQuery, request.query);
    const { server, accountNumber, plan } = accountOf(request.params, "history");
    return answerUnder(plan, reply, async () => {
      const history = await readHistory(engine, journal, server, { accountNumber, since, limit });
      if (history === null) throw new ApiError("ACCOUNT_NOT_FOUND");
      return `{"events":[${history.events.join(",")}],"lastSequence":${history.lastSequence}}`;
    });
  });
}

const NO_FAULT: FaultPlan = { unreachable: null, delayMs: 0, dropAnswer: false };

/** Does the work and sends its answer (JSON text), as far as the faults let it. */
async function answerUnder(plan: FaultPlan, reply: FastifyReply, work: () => Promise<string>): Promise<FastifyReply> {
  if (plan.unreachable !== null) {
    if (plan.unreachable.disconnect) return disconnect(reply);
    throw new ApiError("DEPENDENCY_UNAVAILABLE", { status: 503, text: "made unreachable by an injected fault" });
  }
  if (plan.delayMs > 0) await delay(plan.delayMs);
  if (!plan.dropAnswer) return reply.type(JSON_TYPE).send(await work());
  await work();
  return disconnect(reply);
}

/** Ends the connection without an answer. */
function disconnect(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}
