/** The rows of the operation table for risk (decisions, 15), in the form of `OPERATIONS`. */
import { AccountStateAnswer, AccountStateQuery } from "./http/account-state.ts";
import { RequestBody } from "./http/accounts.ts";
import { CommandEnvelope } from "./http/commands.ts";
import { BreachEvidence, IntervalEvidence, IntervalEvidenceQuery } from "./http/evidence.ts";
import {
  DeleteRiskRulesQuery,
  ListRiskBreachesQuery,
  RiskBreachesAnswer,
  RiskRulesAnswer,
  SetRiskRulesBody,
} from "./http/risk.ts";
import {
  DeleteRiskTemplateQuery,
  RiskTemplateAnswer,
  RiskTemplatesAnswer,
  SetRiskTemplateBody,
} from "./http/risk-templates.ts";

const SERVER = "/api/v1/management/servers/:serverId";
const ACCOUNT = `${SERVER}/accounts/:accountNumber`;
const TEMPLATE = `${SERVER}/risk-templates/:templateName`;

const READ = {
  method: "GET",
  scope: "risk:read",
  idempotencyKey: false,
  price: "read",
  success: [200],
  errors: [400, 401, 402, 403, 404, 500],
  server: true,
  group: "Risk",
} as const;

const QUEUED = {
  scope: "risk:manage",
  idempotencyKey: true,
  price: "mutation",
  success: [200, 202],
  errors: [400, 401, 402, 403, 404, 500],
  server: true,
  group: "Risk",
  answer: CommandEnvelope,
} as const;

export const RISK_OPERATIONS = {
  getAccountState: {
    ...READ,
    path: `${ACCOUNT}/state`,
    group: "History",
    summary: "An account as it was at a time: balance, open positions, last stored equity",
    query: AccountStateQuery,
    answer: AccountStateAnswer,
  },
  flattenAccount: {
    ...QUEUED,
    method: "POST",
    path: `${ACCOUNT}/flatten`,
    summary: "Queues the closing of all positions, and the cancelling of all pending orders",
    body: RequestBody,
  },
  setAccountCloseOnly: {
    ...QUEUED,
    method: "POST",
    path: `${ACCOUNT}/close-only`,
    summary: "Queues the change of an account to close-only: it can reduce and close positions, and opens none",
    body: RequestBody,
  },
  getRiskRules: {
    ...READ,
    path: `${ACCOUNT}/risk-rules`,
    summary: "The risk rules of an account",
    answer: RiskRulesAnswer,
  },
  setRiskRules: {
    ...QUEUED,
    method: "PUT",
    path: `${ACCOUNT}/risk-rules`,
    summary: "Queues a new version of the risk rules of an account, which replaces all its rules",
    body: SetRiskRulesBody,
  },
  deleteRiskRules: {
    ...QUEUED,
    method: "DELETE",
    path: `${ACCOUNT}/risk-rules`,
    summary: "Queues the removal of all risk rules of an account",
    query: DeleteRiskRulesQuery,
  },
  listRiskTemplates: {
    ...READ,
    path: `${SERVER}/risk-templates`,
    summary: "The risk templates of a server, oldest first",
    answer: RiskTemplatesAnswer,
  },
  getRiskTemplate: {
    ...READ,
    path: TEMPLATE,
    summary: "A risk template, and how far it is applied to accounts",
    answer: RiskTemplateAnswer,
  },
  setRiskTemplate: {
    ...QUEUED,
    method: "PUT",
    path: TEMPLATE,
    summary: "Queues a new version of a risk template, which is then applied to the accounts that match it",
    body: SetRiskTemplateBody,
  },
  deleteRiskTemplate: {
    ...QUEUED,
    method: "DELETE",
    path: TEMPLATE,
    summary: "Queues the deletion of a risk template",
    query: DeleteRiskTemplateQuery,
  },
  listRiskBreaches: {
    ...READ,
    path: `${ACCOUNT}/breaches`,
    summary: "The breaches of an account's risk rules, newest first",
    query: ListRiskBreachesQuery,
    answer: RiskBreachesAnswer,
  },
  getBreachEvidence: {
    ...READ,
    path: `${ACCOUNT}/breaches/:breachId/evidence`,
    summary: "The evidence of a breach: a signed document",
    errors: [400, 401, 402, 403, 404, 409, 500],
    answer: BreachEvidence,
  },
  getIntervalEvidence: {
    ...READ,
    path: `${ACCOUNT}/evidence`,
    summary: "Evidence of what kapi received in an interval of the last 24 hours: a signed document",
    query: IntervalEvidenceQuery,
    answer: IntervalEvidence,
  },
} as const;
