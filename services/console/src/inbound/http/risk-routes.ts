import { Guid, ListRiskBreachesQuery, TemplateAccountsQuery } from "@kapi/contracts";
import { ApiError, type FastifyReply, parse } from "@kapi/http";
import { z } from "zod";

import type { Directory, Risk } from "../../domain/ports.ts";
import { readRisk } from "../../operations/read-own-records.ts";
import { AccountPath, ServerPath } from "./server-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const ACCOUNT = "/servers/:serverId/accounts/:accountNumber";
const TemplatePath = ServerPath.extend({ templateName: z.string() });
const BreachPath = AccountPath.extend({ breachId: z.string() });

/** Risk rules, templates, breaches and evidence: the exact bodies of the risk service. */
export function registerRiskRoutes(
  routes: SignedInRoutes,
  dependencies: { readonly directory: Directory; readonly risk: Risk },
): void {
  routes.get(`${ACCOUNT}/risk-rules`, "read", async ({ user }, request, reply) => {
    const account = parse(AccountPath, request.params);
    const read = (risk: Risk): Promise<Buffer> => risk.rules(account);
    return sendJson(reply, await readRisk(dependencies, user.organizationId, account.serverId, read));
  });
  routes.get("/servers/:serverId/risk-templates", "read", async ({ user }, request, reply) => {
    const { serverId } = parse(ServerPath, request.params);
    const read = (risk: Risk): Promise<Buffer> => risk.templates(serverId);
    return sendJson(reply, await readRisk(dependencies, user.organizationId, serverId, read));
  });
  routes.get("/servers/:serverId/risk-templates/:templateName/accounts", "read", async ({ user }, request, reply) => {
    const { serverId, templateName } = parse(TemplatePath, request.params);
    const query = parse(TemplateAccountsQuery, request.query);
    const read = (risk: Risk): Promise<Buffer> => risk.templateAccounts(serverId, templateName, query);
    return sendJson(reply, await readRisk(dependencies, user.organizationId, serverId, read));
  });
  routes.get(`${ACCOUNT}/breaches`, "read", async ({ user }, request, reply) => {
    const account = parse(AccountPath, request.params);
    const query = parse(ListRiskBreachesQuery, request.query);
    const read = (risk: Risk): Promise<Buffer> => risk.breaches(account, query);
    return sendJson(reply, await readRisk(dependencies, user.organizationId, account.serverId, read));
  });
  routes.get(`${ACCOUNT}/breaches/:breachId`, "read", async ({ user }, request, reply) => {
    const { account, breachId } = breachIn(request.params);
    const read = (risk: Risk): Promise<Buffer> => risk.breach(account, breachId);
    return sendJson(reply, await readRisk(dependencies, user.organizationId, account.serverId, read));
  });
  routes.get(`${ACCOUNT}/breaches/:breachId/evidence`, "read", async ({ user }, request, reply) => {
    const { account, breachId } = breachIn(request.params);
    const read = (risk: Risk): Promise<Buffer> => risk.evidence(account, breachId);
    return sendJson(reply, await readRisk(dependencies, user.organizationId, account.serverId, read));
  });
}

function breachIn(params: unknown) {
  const { serverId, accountNumber, breachId } = parse(BreachPath, params);
  const id = Guid.safeParse(breachId);
  if (!id.success) throw new ApiError("BREACH_NOT_FOUND");
  return { account: { serverId, accountNumber }, breachId: id.data };
}

function sendJson(reply: FastifyReply, body: Buffer): FastifyReply {
  return reply.type(JSON_TYPE).send(body);
}
