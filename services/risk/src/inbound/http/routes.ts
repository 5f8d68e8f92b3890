/** Internal reads of risk rules, templates, breaches, evidence, and the public keys of evidence. */
import { type EvidenceKeys, RISK_ROUTES, type AccountRef } from "@kapi/contracts";
import { ApiError, type FastifyInstance, type FastifyReply, serve, serveRaw } from "@kapi/http";

import type { Clock } from "@kapi/kernel";

import type {
  FindBreach,
  LimitReader,
  ReadBreach,
  ReadBreaches,
  ReadRecentBreaches,
  ReadRules,
} from "../../domain/ports.ts";
import type { ListTemplateAccounts, TemplateRepository } from "../../domain/template-ports.ts";
import { listNearLimits } from "../../operations/list-near-limits.ts";
import { listRiskBreaches } from "../../operations/list-risk-breaches.ts";
import type { ReadIntervalEvidence } from "../../operations/read-evidence.ts";

interface RiskReads {
  readonly readRules: ReadRules;
  readonly readBreaches: ReadBreaches;
  readonly readBreach: ReadBreach;
  readonly findBreach: FindBreach;
  readonly readRecentBreaches: ReadRecentBreaches;
  readonly limits: { readonly reader: LimitReader; readonly clock: Clock };
  /** A signed document, as JSON. */
  readonly readBreachEvidence: (account: AccountRef, breachId: string) => Promise<string>;
  readonly readIntervalEvidence: ReadIntervalEvidence;
  readonly templates: Pick<TemplateRepository, "list">;
  readonly listTemplateAccounts: ListTemplateAccounts;
  readonly evidenceKeys: EvidenceKeys;
}

/**
 * Registers the reads. A breach or template that does not exist is 404, with two exceptions. The
 * search for a breach by its id returns null, and the list of a template's accounts is empty.
 */
export function registerRiskRoutes(app: FastifyInstance, reads: RiskReads): void {
  const {
    readRules,
    readBreaches,
    readBreach,
    findBreach,
    readBreachEvidence,
    readIntervalEvidence,
    templates,
    evidenceKeys,
  } = reads;
  serve(app, RISK_ROUTES.getRiskRules, async ({ params }) => ({ riskRules: await readRules(params) }));
  serve(app, RISK_ROUTES.listRiskBreaches, ({ params, query }) => listRiskBreaches(readBreaches, params, query));
  serve(app, RISK_ROUTES.getRiskBreach, async ({ params }) => {
    const breach = await readBreach(params, params.breachId);
    if (breach === null) throw new ApiError("BREACH_NOT_FOUND");
    return { breach };
  });
  serve(app, RISK_ROUTES.findRiskBreach, async ({ body: { serverIds, breachId } }) => ({
    breach: await findBreach(serverIds, breachId),
  }));
  // The bytes that were signed are sent as they are.
  serveRaw(app, RISK_ROUTES.getBreachEvidence, async ({ params }, _request, reply) =>
    sendJson(reply, await readBreachEvidence(params, params.breachId)),
  );
  serveRaw(app, RISK_ROUTES.getIntervalEvidence, async ({ params, query }, _request, reply) =>
    sendJson(reply, await readIntervalEvidence(params, query)),
  );
  serve(app, RISK_ROUTES.listRiskTemplates, async ({ params: { serverId } }) => ({
    riskTemplates: [...(await templates.list(serverId, null))],
  }));
  serve(app, RISK_ROUTES.getRiskTemplate, async ({ params: { serverId, templateName } }) => {
    const [riskTemplate] = await templates.list(serverId, templateName);
    if (riskTemplate === undefined) throw new ApiError("RISK_TEMPLATE_NOT_FOUND");
    return { riskTemplate };
  });
  serve(app, RISK_ROUTES.listTemplateAccounts, ({ params: { serverId, templateName }, query }) =>
    reads.listTemplateAccounts({ serverId, name: templateName }, query.after ?? "", query.limit),
  );
  serve(app, RISK_ROUTES.listNearLimits, ({ body }) => listNearLimits(reads.limits, body));
  serve(app, RISK_ROUTES.listRecentBreaches, ({ body: { serverIds, from, after, limit } }) =>
    reads.readRecentBreaches(serverIds, from, after ?? null, limit),
  );
  serve(app, RISK_ROUTES.getEvidenceKeys, () => Promise.resolve(evidenceKeys));
}

function sendJson(reply: FastifyReply, json: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(json);
}
