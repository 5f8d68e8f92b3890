import type { RiskBreach } from "../http/risk.ts";
import type { RiskTemplate } from "../http/risk-templates.ts";
import type { RISK_OPERATIONS } from "../risk-operations.ts";
import {
  ACCOUNT_NUMBER,
  BREACH_ID,
  COMMAND_ID,
  CREATED_AT,
  envelope,
  onServer,
  REQUEST_ID,
  SERVER_ID,
  TEMPLATE_NAME,
  UPDATED_AT,
} from "./command-examples.ts";
import type { Example } from "./example.ts";
import { BREACH_EVIDENCE, INTERVAL_EVIDENCE } from "./evidence-examples.ts";
import { DAILY_LOSS } from "./event-examples.ts";

const TEMPLATE_FIELDS = {
  rules: [DAILY_LOSS],
  appliesTo: { status: ["active"], nameStartsWith: "Phase 1" },
  newAccounts: true,
} satisfies Partial<RiskTemplate>;
const TEMPLATE: RiskTemplate = {
  serverId: SERVER_ID,
  name: TEMPLATE_NAME,
  version: 2,
  ...TEMPLATE_FIELDS,
  commandId: COMMAND_ID,
  createdAt: CREATED_AT,
  updatedAt: UPDATED_AT,
  progress: "applying",
  accounts: { applied: 240, waiting: 60, failed: 0 },
};

const BREACH: RiskBreach = {
  id: BREACH_ID,
  rule: DAILY_LOSS,
  ruleVersion: 1,
  period: "2026-03-02",
  reference: 10_250.5,
  threshold: 9_737.97,
  value: 9_735.1,
  equity: 9_735.1,
  balance: 10_250.5,
  measuredAt: "2026-03-02T10:04:07.512Z",
  action: "disable",
  commandId: COMMAND_ID,
  serverId: SERVER_ID,
  accountNumber: ACCOUNT_NUMBER,
  recordedAt: "2026-03-02T10:04:07.530Z",
  evidence: { status: "stored", sequence: 512, extremeValue: 9_730.4, extremeAt: "2026-03-02T10:04:07.612Z" },
};

type Contracts = typeof RISK_OPERATIONS;

/** The examples of the operations for risk. */
export const RISK_EXAMPLES: { readonly [O in keyof Contracts]: Example<Contracts[O]> } = {
  getAccountState: {
    answer: {
      state: {
        serverId: SERVER_ID,
        accountNumber: ACCOUNT_NUMBER,
        at: "2026-03-02T12:00:30.000Z",
        currency: "USD",
        balance: 10_125.5,
        positionCount: 1,
        positions: [
          {
            id: "7001",
            orderId: "5001",
            symbol: "EURUSD",
            side: "buy",
            volume: 0.1,
            closedVolume: 0,
            openPrice: 1.08421,
            openedAt: CREATED_AT,
          },
        ],
        equity: { value: 10_098.2, measuredAt: "2026-03-02T11:59:00.000Z", ageMs: 90_000 },
      },
    },
  },
  getRiskRules: {
    answer: {
      riskRules: {
        serverId: SERVER_ID,
        accountNumber: ACCOUNT_NUMBER,
        version: 1,
        rules: [DAILY_LOSS],
        commandId: COMMAND_ID,
        activeFrom: UPDATED_AT,
        template: { name: TEMPLATE_NAME, version: 2 },
      },
    },
  },
  flattenAccount: { body: { requestId: REQUEST_ID }, answer: envelope("account.flatten") },
  setAccountCloseOnly: { body: { requestId: REQUEST_ID }, answer: envelope("account.close_only") },
  setRiskRules: {
    body: { rules: [DAILY_LOSS], requestId: REQUEST_ID },
    answer: envelope("risk.set_rules", { rules: [DAILY_LOSS] }),
  },
  deleteRiskRules: { answer: envelope("risk.delete_rules") },
  listRiskTemplates: { answer: { riskTemplates: [TEMPLATE] } },
  getRiskTemplate: { answer: { riskTemplate: TEMPLATE } },
  setRiskTemplate: {
    body: { ...TEMPLATE_FIELDS, requestId: REQUEST_ID },
    answer: onServer(envelope("risk.set_template", { name: TEMPLATE_NAME, ...TEMPLATE_FIELDS })),
  },
  deleteRiskTemplate: {
    answer: onServer(envelope("risk.delete_template", { name: TEMPLATE_NAME, accountRules: "keep" })),
  },
  getBreachEvidence: { answer: BREACH_EVIDENCE },
  getIntervalEvidence: { answer: INTERVAL_EVIDENCE },
  listRiskBreaches: {
    answer: { breaches: [BREACH], pagination: { page: 1, limit: 20, total: 1, totalPages: 1, nextCursor: null } },
  },
};
