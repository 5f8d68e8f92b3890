/**
 * The console's public listener: the page and its API. It has no internal routes, and accepts
 * neither internal tokens nor management keys.
 */
import type { FastifyInstance } from "@kapi/http";

import type { AccountRecords } from "../../domain/account-records.ts";
import type { AuditLog } from "../../domain/audit.ts";
import type { PersonOperations } from "../../domain/person-operations.ts";
import type {
  AccountRanks,
  Commands,
  Credits,
  Directory,
  FindTransaction,
  Risk,
  Webhooks,
} from "../../domain/ports.ts";
import type { EquityHistories } from "../../domain/equity-history.ts";
import type { OverviewSources } from "../../domain/overview-sources.ts";
import type { RequestLogStore } from "../../domain/request-log.ts";
import type { ServerDependencies } from "../../operations/list-servers.ts";
import type { LiveAccounts } from "../../operations/live-accounts.ts";
import type { Overviews } from "../../operations/read-overview.ts";
import { registerAccountListRoutes } from "./account-list-routes.ts";
import { registerAccountRecordRoutes } from "./account-record-routes.ts";
import { registerActionRoutes } from "./action-routes.ts";
import { registerAuditRoutes } from "./audit-routes.ts";
import { registerCreditRoutes } from "./credit-routes.ts";
import { registerOwnAccountRoutes } from "./own-account-routes.ts";
import { registerEquityRoutes } from "./equity-routes.ts";
import { registerKeyRoutes } from "./key-routes.ts";
import { registerLiveRoutes } from "./live-routes.ts";
import { type Assets, registerPageRoutes } from "./pages.ts";
import { registerRequestRoutes } from "./request-routes.ts";
import { type PeopleRouteDependencies, registerPeopleRoutes } from "./people-routes.ts";
import { type ProviderRouteDependencies, registerProviderRoutes } from "./provider-routes.ts";
import { type RecoveryRouteDependencies, registerRecoveryRoutes } from "./recovery-routes.ts";
import { registerRiskActionRoutes } from "./risk-action-routes.ts";
import { registerRiskRoutes } from "./risk-routes.ts";
import { registerOverviewRoutes } from "./overview-routes.ts";
import { registerSearchRoutes } from "./search-routes.ts";
import { registerServerRoutes } from "./server-routes.ts";
import { registerSessionRoutes, type SessionRouteDependencies } from "./session-routes.ts";
import { signedInRoutes } from "./signed-in-routes.ts";
import { registerWebhookRoutes } from "./webhook-routes.ts";

/**
 * On every answer: only own resources and `data:` images, no framing, and no caching unless a route
 * allows it.
 */
const HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};
/** Over https: browsers use only https for a year. */
const HTTPS_HEADERS = { ...HEADERS, "strict-transport-security": "max-age=31536000" };

/**
 * All that the routes of the console use, built once in service.ts. Adapters of other services,
 * such as `records`, `ranks` and `risk`, do not check whose server they read: operations ask
 * `directory` first.
 */
export interface ConsoleDependencies
  extends
    SessionRouteDependencies,
    ServerDependencies,
    PeopleRouteDependencies,
    ProviderRouteDependencies,
    RecoveryRouteDependencies {
  readonly directory: Directory;
  readonly credits: Credits;
  readonly commands: Commands;
  readonly findTransaction: FindTransaction;
  readonly records: AccountRecords;
  readonly ranks: AccountRanks;
  readonly personOperations: PersonOperations;
  readonly sources: OverviewSources;
  readonly overviews: Overviews;
  readonly risk: Risk;
  readonly webhooks: Webhooks;
  readonly auditLog: AuditLog;
  readonly requestLog: RequestLogStore;
  readonly live: LiveAccounts;
  readonly equityHistories: EquityHistories;
  readonly assets: Assets;
}

/**
 * Installs the console. A new group of routes is a file in this folder that uses `SignedInRoutes`.
 */
export function registerConsoleRoutes(app: FastifyInstance, dependencies: ConsoleDependencies): void {
  const { secureCookies } = dependencies;
  const headers = secureCookies ? HTTPS_HEADERS : HEADERS;
  app.addHook("onRequest", (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
  const routes = signedInRoutes(app, dependencies, secureCookies);
  registerSessionRoutes(app, routes, dependencies);
  registerOwnAccountRoutes(routes, dependencies);
  registerPeopleRoutes(app, routes, dependencies);
  registerRecoveryRoutes(app, dependencies);
  registerProviderRoutes(app, dependencies);
  registerCreditRoutes(routes, dependencies.credits);
  registerKeyRoutes(routes, dependencies);
  registerRequestRoutes(routes, dependencies.requestLog);
  registerServerRoutes(routes, dependencies);
  registerAccountListRoutes(routes, dependencies);
  registerAccountRecordRoutes(routes, dependencies);
  registerActionRoutes(routes, dependencies);
  registerRiskActionRoutes(routes, dependencies);
  registerOverviewRoutes(routes, dependencies);
  registerRiskRoutes(routes, dependencies);
  registerLiveRoutes(app, routes, dependencies);
  registerEquityRoutes(routes, dependencies);
  registerWebhookRoutes(routes, dependencies);
  registerAuditRoutes(routes, dependencies);
  registerSearchRoutes(routes, dependencies);
  registerPageRoutes(app, dependencies.assets);
}
