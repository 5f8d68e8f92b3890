import { randomUUID } from "node:crypto";

import {
  AccountMetricsFrame,
  AuditRecordedBody,
  type EquityHistory,
  ListRiskBreachesQuery,
  METRICS_ROUTES,
  type NearLimit,
  PageQuery,
  pageNumbersOf,
  RISK_ROUTES,
  type Server,
  type StoredAccountValues,
} from "@kapi/contracts";
import {
  ApiError,
  callerOf,
  createHttpServer,
  type FastifyReply,
  type FastifyRequest,
  startListening,
  parse,
} from "@kapi/http";
import { createLogger, Health, type Started } from "@kapi/runtime";
import { serverEntry } from "@kapi/testkit";
import { z } from "zod";

import { installRecords, type RecordData } from "./stand-in-records.ts";

const JSON_TYPE = "application/json; charset=utf-8";

const AccountRefs = z.object({ accounts: z.array(z.object({ serverId: z.guid(), accountNumber: z.string() })) });
const ServerPath = z.object({ serverId: z.guid() });
const AccountNumbers = z.object({ accountNumbers: z.array(z.string()) });
const AccountPath = ServerPath.extend({ accountNumber: z.string() });

/** The data of the stand-ins, which tests set, and the requests that the stand-ins received. */
export interface StandInServices extends RecordData {
  readonly url: string;
  /** Newest sample, per account number. */
  readonly samples: Map<string, AccountMetricsFrame>;
  /** Commands by their id: their organization, and the body of the answer as JSON. */
  readonly commands: Map<string, { organizationId: string; body: string }>;
  /** Breaches by their id: their account, and the evidence as JSON or the error of reading it. */
  readonly breaches: Map<string, { accountNumber: string; evidence: string | ApiError }>;
  /**
   * Webhook endpoints by their id: their organization, and the body of the request that created
   * them.
   */
  readonly endpoints: Map<string, { organizationId: string; asked: unknown }>;
  /** Changes of configurations that were requested, in order. */
  readonly changes: { serverId: string; change: unknown }[];
  /** For each request for samples, the number of requested accounts. */
  readonly sampleRequests: number[];
  /** Requests whose path matches get no answer: their connection is closed. */
  unanswered: RegExp | null;
  /** Whether the webhooks service closes the connection of every request. */
  webhooksUnavailable: boolean;
  /** Entries for the audit log that the console has not confirmed. */
  readonly auditEvents: Map<string, unknown>;
  /** Path and query of every request, except requests below `/internal/audit-outbox`. */
  readonly asked: string[];
}

/**
 * The service tokens that these services accept: those of the console and the organization service.
 */
const KNOWN_CALLER = /^(?:console|organization)\./;

/**
 * Starts one HTTP server in place of the other services that the console and the organization
 * service call. End-to-end tests call the real services.
 */
export async function startStandInServices(): Promise<Started<StandInServices>> {
  const app = createHttpServer({
    logger: createLogger({ service: "stand-in-services", level: "silent" }),
    health: new Health(),
  });
  app.addHook("onRequest", ({ headers }, _reply, done) => {
    const token = headers["x-service-token"];
    const isKnown = typeof token === "string" && KNOWN_CALLER.test(token);
    done(isKnown ? undefined : new ApiError("AUTHENTICATION_REQUIRED"));
  });
  const state: Omit<StandInServices, "url"> = {
    accounts: new Map(),
    samples: new Map(),
    commands: new Map(),
    recordCounts: new Map(),
    recordedBy: null,
    breaches: new Map(),
    endpoints: new Map(),
    changes: [],
    sampleRequests: [],
    unanswered: null,
    webhooksUnavailable: false,
    auditEvents: new Map(),
    asked: [],
  };
  app.addHook("onRequest", (request, _reply, done) => {
    // The console requests entries of the audit log once a second in every test.
    if (!request.url.startsWith("/internal/audit-outbox")) state.asked.push(request.url);
    const isUnanswered = state.unanswered?.test(request.url) === true;
    if (isUnanswered || (state.webhooksUnavailable && request.url.includes("/webhooks"))) request.raw.destroy();
    else done();
  });
  installAccount(app, state);
  installCommandStatus(app, state);
  installFinance(app);
  installRecords(app, state);
  installRisk(app, state);
  installOverview(app, state);
  installWebhooks(app, state);
  app.get("/internal/audit-outbox", () => ({ events: [...state.auditEvents.values()] }));
  app.post("/internal/audit-outbox/recorded", (request) => {
    for (const eventId of parse(AuditRecordedBody, request.body).eventIds) state.auditEvents.delete(eventId);
    return {};
  });
  app.post("/internal/samples/latest", (request) => {
    const { accounts } = parse(AccountRefs, request.body);
    state.sampleRequests.push(accounts.length);
    return { samples: accounts.map(({ accountNumber }) => state.samples.get(accountNumber) ?? null) };
  });
  const started = await startListening(app, { host: "127.0.0.1", port: 0 });
  return { value: Object.assign(state, { url: started.value.url }), stop: () => started.stop() };
}

type App = ReturnType<typeof createHttpServer>;

function installAccount(app: App, { accounts, changes }: Omit<StandInServices, "url">): void {
  app.post("/internal/servers/overview", (request) => {
    const { serverIds } = parse(z.object({ serverIds: z.array(z.guid()) }), request.body);
    return {
      servers: serverIds.map((serverId) => {
        const known = accounts.get(serverId);
        return known === undefined ? null : { server: serverOf(serverId), accountCount: known.length };
      }),
    };
  });
  app.patch("/internal/servers/:serverId/configuration", (request) => {
    const { serverId } = parse(ServerPath, request.params);
    const change = request.body as { defaultLeverage?: number };
    if (change.defaultLeverage === 77) {
      const issue = { path: ["defaultLeverage"], code: "custom", message: "must be one of supportedLeverage" };
      throw new ApiError("VALIDATION_FAILED", { issues: [issue] });
    }
    changes.push({ serverId, change });
    return { server: serverOf(serverId) };
  });
  app.get("/internal/servers/:serverId/accounts", (request, reply) => {
    const { serverId } = parse(ServerPath, request.params);
    const known = accounts.get(serverId);
    if (known === undefined) throw new ApiError("SERVER_NOT_FOUND");
    const pagination = { ...pageNumbersOf(parse(PageQuery, request.query), known.length), nextCursor: null };
    const records = known.map((accountNumber) => accountOf(serverId, accountNumber));
    return reply.type(JSON_TYPE).send(JSON.stringify({ accounts: records, pagination }));
  });
  app.get("/internal/servers/:serverId/accounts/:accountNumber", (request) => {
    const { serverId, accountNumber } = parse(AccountPath, request.params);
    if (accounts.get(serverId)?.includes(accountNumber) !== true) throw new ApiError("ACCOUNT_NOT_FOUND");
    return { account: accountOf(serverId, accountNumber), credentials: credentialsOf(serverId, accountNumber) };
  });
  app.post("/internal/servers/:serverId/accounts/records", (request) => {
    const { serverId } = parse(ServerPath, request.params);
    const { accountNumbers } = parse(AccountNumbers, request.body);
    return { accounts: accountNumbers.map((accountNumber) => accountOf(serverId, accountNumber)) };
  });
  app.post("/internal/servers/:serverId/accounts/stored-values", (request) => ({
    values: parse(AccountNumbers, request.body).accountNumbers.map(() => null),
  }));
  // For every sort field, accounts keep their order in `accounts`; a descending sort reverses it.
  app.post("/internal/servers/:serverId/accounts/ranked", (request) => {
    const { serverId } = parse(ServerPath, request.params);
    const { sort, filters, after, limit } = parse(METRICS_ROUTES.rankAccounts.body, request.body);
    const known = (accounts.get(serverId) ?? []).filter((one) => one.includes(filters.search ?? ""));
    const ordered = sort.startsWith("-") ? known.toReversed() : known;
    const first = after === null ? 0 : ordered.indexOf(after.accountNumber) + 1;
    const page = ordered.slice(first, first + limit);
    return {
      accounts: page.map((accountNumber) => ({ accountNumber, value: accountNumber, stored: storedValues() })),
      total: known.length,
    };
  });
  // Each history has one point. The balance of this point is the number of requested points.
  app.get("/internal/servers/:serverId/accounts/:accountNumber/equity-history", (request): EquityHistory => {
    const { from, to, points } = parse(METRICS_ROUTES.readEquityHistory.query, request.query);
    const values = { equity: 90, balance: points, lowest: 80, highest: 95, drawdown: { from: 95, to: 80 } };
    return { from, to, before: null, points: [{ startsAt: from, endsAt: to, ...values }] };
  });
  app.post("/internal/accounts/existing", (request) => ({
    existing: parse(AccountRefs, request.body).accounts.map(
      ({ serverId, accountNumber }) => accounts.get(serverId)?.includes(accountNumber) === true,
    ),
  }));
}

function installFinance(app: App): void {
  app.post("/internal/transactions/find", () => ({ transaction: null }));
}

function installCommandStatus(app: App, { commands }: Omit<StandInServices, "url">): void {
  app.post("/internal/commands/caught-up", () => ({}));
  app.post("/internal/commands/open", () => ({ commands: [] }));
  app.post("/internal/commands/read", (request, reply) => {
    const Body = z.object({ reads: z.array(z.object({ organizationId: z.guid(), commandId: z.guid() })) });
    const lines = parse(Body, request.body).reads.map(({ organizationId, commandId }) => {
      const found = commands.get(commandId);
      return `${found?.organizationId === organizationId ? found.body : ""}\n`;
    });
    return reply.type("application/x-ndjson").send(lines.join(""));
  });
}

/**
 * Each server reports one active account with an equity of 100.10, 5.05 less than at the start of
 * the day. Every account in `accounts` is near a limit. There are no breaches and no waiting
 * commands.
 */
function installOverview(app: App, { accounts }: Omit<StandInServices, "url">): void {
  const ServerIds = z.object({ serverIds: z.array(z.guid()) });
  const perServer = (request: FastifyRequest, answer: object): object => ({
    servers: parse(ServerIds, request.body).serverIds.map(() => answer),
  });
  app.post("/internal/servers/account-counts", (request) => perServer(request, { active: 1 }));
  app.post("/internal/servers/checks", (request) => perServer(request, { answers: true, answeredAt: null }));
  app.post("/internal/servers/equity", (request) =>
    perServer(request, { accounts: 1, equity: 100.1, dayStartEquity: 105.15, measuredAt: null }),
  );
  app.post("/internal/near-limits", (request) => {
    const { serverIds, limit } = parse(RISK_ROUTES.listNearLimits.body, request.body);
    const near = serverIds.flatMap((serverId) =>
      (accounts.get(serverId) ?? []).map((accountNumber) => nearLimit(serverId, accountNumber)),
    );
    return { limits: near.slice(0, limit), total: near.length };
  });
  app.post("/internal/breaches/recent", () => ({ total: 0, breaches: [] }));
  app.get("/internal/organizations/:organizationId/waiting-commands", () => ({ servers: [] }));
}

function nearLimit(serverId: string, accountNumber: string): NearLimit {
  const rule = { id: "max", type: "maxLoss", limit: { amount: 10 }, action: "notify" } as const;
  const measuredAt = "2026-01-01T10:43:00.000Z";
  return { serverId, accountNumber, rule, value: 91, threshold: 90, leftPercent: 10, measuredAt };
}

/** Lists of breaches contain the query in `asked`, so that tests can check the query. */
function installRisk(app: App, { breaches }: Omit<StandInServices, "url">): void {
  const base = "/internal/servers/:serverId/accounts/:accountNumber";
  const BreachPath = AccountPath.extend({ breachId: z.guid() });
  const breachIn = (params: unknown) => {
    const { accountNumber, breachId } = parse(BreachPath, params);
    const breach = breaches.get(breachId);
    if (breach?.accountNumber !== accountNumber) throw new ApiError("BREACH_NOT_FOUND");
    return { breachId, ...breach };
  };
  app.get(`${base}/risk-rules`, (request) => ({ riskRules: parse(AccountPath, request.params) }));
  app.get(`${base}/breaches`, (request) => ({
    breaches: [...breaches.keys()].map((id) => ({ id })),
    asked: parse(ListRiskBreachesQuery, request.query),
  }));
  app.get(`${base}/breaches/:breachId`, (request) => {
    const { breachId, accountNumber } = breachIn(request.params);
    return { breach: { id: breachId, accountNumber } };
  });
  app.get(`${base}/breaches/:breachId/evidence`, (request, reply) => {
    const { evidence } = breachIn(request.params);
    if (evidence instanceof ApiError) throw evidence;
    return reply.type(JSON_TYPE).send(evidence);
  });
}

/** An answer for one endpoint contains the request, so that tests can check the request. */
function installWebhooks(app: App, { endpoints }: Omit<StandInServices, "url">): void {
  const base = "/internal/organizations/:organizationId/webhooks";
  const Organization = z.object({ organizationId: z.guid() });
  app.post(base, (request, reply) => {
    const { organizationId } = parse(Organization, request.params);
    const { url } = request.body as { url: string };
    if (url.startsWith("http:")) throw new ApiError("WEBHOOK_URL_REFUSED", { text: "The address cannot be used: no" });
    const id = randomUUID();
    endpoints.set(id, { organizationId, asked: request.body });
    return reply.code(201).send({ endpoint: { id, ...(request.body as object) }, secret: "whsec_once" });
  });
  app.get(base, (request) => {
    const { organizationId } = parse(Organization, request.params);
    const own = [...endpoints].filter(([, endpoint]) => endpoint.organizationId === organizationId);
    return { endpoints: own.map(([id]) => ({ id })) };
  });
  app.route({
    method: ["GET", "POST", "PATCH", "DELETE"],
    url: `${base}/:endpointId/*`,
    handler: (request, reply) => answerOfEndpoint(request, reply),
  });
  app.route({
    method: ["GET", "PATCH", "DELETE"],
    url: `${base}/:endpointId`,
    handler: (request, reply) => answerOfEndpoint(request, reply),
  });
  const answerOfEndpoint = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const Path = Organization.extend({ endpointId: z.guid(), "*": z.string().default("") });
    const { organizationId, endpointId, "*": below } = parse(Path, request.params);
    if (endpoints.get(endpointId)?.organizationId !== organizationId) throw new ApiError("ENDPOINT_NOT_FOUND");
    const { method, body = null, query } = request;
    const caller = callerOf(request.headers);
    const answer = { method, below, body, query, caller };
    return reply.code(method === "POST" && below !== "rotate-secret" ? 202 : 200).send(answer);
  };
}

function storedValues(): StoredAccountValues {
  return {
    equity: 90,
    balance: 100,
    dayStartEquity: 95,
    dayChange: -5,
    dailyDrawdown: 6.25,
    totalDrawdown: 10,
    measuredAt: "2026-01-01T10:43:00.000Z",
  };
}

function serverOf(serverId: string): Server {
  return { ...serverEntry().configuration, serverId, currencySymbol: "$", status: "active" };
}

function credentialsOf(serverId: string, accountNumber: string): object {
  return {
    login: accountNumber,
    serverId,
    serverName: "Test-Demo",
    tradingPasswordSet: true,
    investorPasswordSet: true,
    tradingPasswordChangedAt: null,
    investorPasswordChangedAt: null,
  };
}

function accountOf(serverId: string, accountNumber: string): object {
  const at = "2026-01-01T00:00:00.000Z";
  return {
    id: "018f0000-0000-7000-8000-000000000001",
    organizationId: "018f0000-0000-7000-8000-000000000002",
    serverId,
    accountNumber,
    accountName: "<b>Account</b>",
    status: "active",
    statusReason: null,
    environment: "demo",
    currency: "USD",
    currencySymbol: "$",
    leverage: 100,
    initialBalance: 1000,
    balance: 1000,
    equity: 1000,
    usedMargin: 0,
    freeMargin: 1000,
    marginLevel: null,
    unrealizedProfit: 0,
    openPositionCount: 0,
    metricsSequence: 1,
    metricsMeasuredAt: at,
    version: 1,
    createdAt: at,
    updatedAt: at,
    activatedAt: at,
    disabledAt: null,
    archivedAt: null,
  };
}

/** A live sample of an account. The equity in the sample is 1000 plus `sequence`. */
export function sampleOf(serverId: string, accountNumber: string, sequence: number): AccountMetricsFrame {
  return AccountMetricsFrame.parse({
    type: "account.metrics",
    eventId: "018f0000-0000-7000-8000-000000000003",
    serverId,
    accountNumber,
    sequence,
    measuredAt: "2026-01-01T00:00:00.000Z",
    balance: 1000,
    equity: 1000 + sequence,
    margin: 0,
    freeMargin: 1000,
    marginLevel: 0,
    openPositionCount: 0,
    intervalMinimumEquity: 1000,
    intervalMinimumMeasuredAt: "2026-01-01T00:00:00.000Z",
  });
}
