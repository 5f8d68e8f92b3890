/** The internal routes of the risk service. */
import { z } from "zod";

import { BreachEvidence, EvidenceKeys, IntervalEvidence, IntervalEvidenceQuery } from "../http/evidence.ts";
import { ConsoleBreachAnswer } from "../http/console.ts";
import { LossRuleType, NearLimit, RecentBreaches } from "../http/console-overview.ts";
import { TemplateAccountsAnswer, TemplateAccountsQuery } from "../http/console-risk.ts";
import { RiskTemplateAnswer, RiskTemplatesAnswer } from "../http/risk-templates.ts";
import { ListRiskBreachesQuery, RiskBreach, RiskBreachesAnswer, RiskRulesAnswer } from "../http/risk.ts";
import { AccountNumber, Guid } from "../values.ts";
import { CUSTOMER_CALLERS, type InternalRoutes } from "./route.ts";

const SERVER = "/internal/servers/:serverId";
const ACCOUNT = `${SERVER}/accounts/:accountNumber`;

/** Maximum number of servers per request. */
const MAX_SERVERS = 1_000;
/**
 * Maximum number of accounts or breaches per request: a page of 100, and one more, which shows
 * whether another page follows.
 */
const MAX_ROWS = 101;
const ServerIds = z.array(Guid).max(MAX_SERVERS);
const Rows = z.int().min(1).max(MAX_ROWS);

/**
 * The risk service checks neither the account nor its owner. The gateway checks that the account
 * exists; the console checks only that the organization has the server.
 */
export const RISK_ROUTES = {
  getRiskRules: { method: "GET", path: `${ACCOUNT}/risk-rules`, callers: CUSTOMER_CALLERS, answer: RiskRulesAnswer },
  listRiskBreaches: {
    method: "GET",
    path: `${ACCOUNT}/breaches`,
    callers: CUSTOMER_CALLERS,
    query: ListRiskBreachesQuery,
    answer: RiskBreachesAnswer,
  },
  getRiskBreach: {
    method: "GET",
    path: `${ACCOUNT}/breaches/:breachId`,
    callers: ["console"],
    answer: ConsoleBreachAnswer,
  },
  /** A breach on one of the servers, by its id alone; null: there is none. */
  findRiskBreach: {
    method: "POST",
    path: "/internal/breaches/find",
    callers: ["console"],
    body: z.object({ serverIds: z.array(Guid).max(MAX_SERVERS), breachId: Guid }),
    answer: z.object({ breach: RiskBreach.nullable() }),
  },
  getBreachEvidence: {
    method: "GET",
    path: `${ACCOUNT}/breaches/:breachId/evidence`,
    callers: CUSTOMER_CALLERS,
    answer: BreachEvidence,
  },
  getIntervalEvidence: {
    method: "GET",
    path: `${ACCOUNT}/evidence`,
    callers: ["gateway"],
    query: IntervalEvidenceQuery,
    answer: IntervalEvidence,
  },
  listRiskTemplates: {
    method: "GET",
    path: `${SERVER}/risk-templates`,
    callers: CUSTOMER_CALLERS,
    answer: RiskTemplatesAnswer,
  },
  getRiskTemplate: {
    method: "GET",
    path: `${SERVER}/risk-templates/:templateName`,
    callers: CUSTOMER_CALLERS,
    answer: RiskTemplateAnswer,
  },
  /** The accounts of a template, sorted by account number, compared as text. */
  listTemplateAccounts: {
    method: "GET",
    path: `${SERVER}/risk-templates/:templateName/accounts`,
    callers: ["console"],
    query: TemplateAccountsQuery,
    answer: TemplateAccountsAnswer,
  },
  /** Accounts by the distance from their nearest loss limit. Breached limits are left out. */
  listNearLimits: {
    method: "POST",
    path: "/internal/near-limits",
    callers: ["console"],
    body: z.object({
      serverIds: ServerIds,
      /** Null: the nearest of all types. */
      type: LossRuleType.nullable(),
      /** Maximum distance in percent of the limit; null: any. */
      within: z.number().nullable(),
      /** Only accounts after this one in the list; null: from the first one. */
      after: z.object({ leftPercent: z.number(), serverId: Guid, accountNumber: AccountNumber }).nullable(),
      limit: Rows,
    }),
    answer: z.object({ limits: z.array(NearLimit), total: z.int().min(0) }),
  },
  /** Breaches of servers since a time, newest first. */
  listRecentBreaches: {
    method: "POST",
    path: "/internal/breaches/recent",
    callers: ["console"],
    body: z.object({
      serverIds: ServerIds,
      from: z.iso.datetime(),
      /** Only breaches after this one in the list; null or absent (release 0.1.0): all. */
      after: z.object({ measuredAt: z.iso.datetime(), id: Guid }).nullish(),
      limit: Rows,
    }),
    answer: RecentBreaches,
  },
  getEvidenceKeys: { method: "GET", path: "/internal/evidence-keys", callers: ["gateway"], answer: EvidenceKeys },
} as const satisfies InternalRoutes;
