/**
 * Which roles may call each route of the console. `route-roles.test.ts` compares this table with
 * the real routes, so a new route needs a row here.
 */
import type { ConsoleRole } from "@kapi/contracts";

const EVERYBODY: readonly ConsoleRole[] = ["owner", "operator", "finance", "read_only"];
const OWNER: readonly ConsoleRole[] = ["owner"];
const OPERATORS: readonly ConsoleRole[] = ["owner", "operator"];
const FINANCE: readonly ConsoleRole[] = ["owner", "finance"];

const ACCOUNT = "/servers/:serverId/accounts/:accountNumber";
const ENDPOINT = "/webhooks/:endpointId";

/** Routes that need a session, by method and path below `/console/api`, with their roles. */
export const ROUTE_ROLES: Readonly<Record<string, readonly ConsoleRole[]>> = {
  "GET /session": EVERYBODY,
  "DELETE /session": EVERYBODY,
  "PUT /session/password": EVERYBODY,
  "GET /sessions": EVERYBODY,
  "DELETE /sessions/:sessionId": EVERYBODY,
  "POST /sessions/end-others": EVERYBODY,
  "POST /two-factor": EVERYBODY,
  "POST /two-factor/confirm": EVERYBODY,
  "POST /two-factor/disable": EVERYBODY,
  "POST /two-factor/recovery-codes": EVERYBODY,

  "GET /people": OWNER,
  "POST /people/invitations": OWNER,
  "DELETE /people/invitations/:invitationId": OWNER,
  "PUT /people/two-factor-requirement": OWNER,
  "PUT /people/:userId/role": OWNER,
  "POST /people/:userId/disable": OWNER,
  "POST /people/:userId/end-sessions": OWNER,
  "POST /people/:userId/reset-two-factor": OWNER,
  "GET /audit": OWNER,
  "GET /audit/export": OWNER,

  "GET /credits": EVERYBODY,
  "GET /credits/usage": EVERYBODY,
  "GET /credits/usage-by-day": EVERYBODY,
  "PUT /credits/threshold": FINANCE,

  "GET /scopes": EVERYBODY,
  "GET /actors": EVERYBODY,
  "GET /keys": EVERYBODY,
  "POST /keys": OWNER,
  "DELETE /keys/:keyId": OWNER,

  "GET /servers": EVERYBODY,
  "PATCH /servers/:serverId": OPERATORS,
  "GET /servers/:serverId/accounts": EVERYBODY,
  "GET /servers/:serverId/accounts.csv": EVERYBODY,
  "GET /overview": EVERYBODY,
  "GET /near-limits": EVERYBODY,
  "GET /breaches": EVERYBODY,
  "GET /servers/:serverId/commands": EVERYBODY,
  "GET /servers/:serverId/commands/:commandId": EVERYBODY,
  [`GET ${ACCOUNT}`]: EVERYBODY,
  [`GET ${ACCOUNT}/live`]: EVERYBODY,
  [`GET ${ACCOUNT}/equity-history`]: EVERYBODY,
  [`GET ${ACCOUNT}/risk-rules`]: EVERYBODY,
  [`GET ${ACCOUNT}/breaches`]: EVERYBODY,
  [`GET ${ACCOUNT}/breaches/:breachId`]: EVERYBODY,
  [`GET ${ACCOUNT}/breaches/:breachId/evidence`]: EVERYBODY,

  [`GET ${ACCOUNT}/orders`]: EVERYBODY,
  [`GET ${ACCOUNT}/orders.csv`]: EVERYBODY,
  [`GET ${ACCOUNT}/positions`]: EVERYBODY,
  [`GET ${ACCOUNT}/positions.csv`]: EVERYBODY,
  [`GET ${ACCOUNT}/deals`]: EVERYBODY,
  [`GET ${ACCOUNT}/deals.csv`]: EVERYBODY,
  [`GET ${ACCOUNT}/transactions`]: EVERYBODY,
  [`GET ${ACCOUNT}/transactions.csv`]: EVERYBODY,
  [`GET ${ACCOUNT}/commands`]: EVERYBODY,
  [`GET ${ACCOUNT}/commands.csv`]: EVERYBODY,
  [`GET ${ACCOUNT}/audit`]: OWNER,
  [`GET ${ACCOUNT}/deliveries`]: EVERYBODY,
  "GET /events/:eventId": EVERYBODY,
  "GET /requests": EVERYBODY,
  "GET /search": EVERYBODY,
  "GET /requests/:id": EVERYBODY,

  [`POST ${ACCOUNT}/actions/deposit`]: FINANCE,
  [`POST ${ACCOUNT}/actions/withdraw`]: FINANCE,
  [`POST ${ACCOUNT}/actions/archive`]: OPERATORS,
  [`POST ${ACCOUNT}/actions/close-only`]: OPERATORS,
  [`POST ${ACCOUNT}/actions/disable`]: OPERATORS,
  [`POST ${ACCOUNT}/actions/enable`]: OPERATORS,
  [`POST ${ACCOUNT}/actions/flatten`]: OPERATORS,
  [`POST ${ACCOUNT}/actions/set-risk-rules`]: OPERATORS,
  [`POST ${ACCOUNT}/actions/delete-risk-rules`]: OPERATORS,
  "GET /servers/:serverId/risk-templates": EVERYBODY,
  "GET /servers/:serverId/risk-templates/:templateName/accounts": EVERYBODY,
  "POST /servers/:serverId/risk-templates/:templateName/actions/set-template": OPERATORS,
  "POST /servers/:serverId/risk-templates/:templateName/actions/delete-template": OPERATORS,
  [`POST ${ACCOUNT}/actions/reset-investor-password`]: OPERATORS,
  [`POST ${ACCOUNT}/actions/reset-password`]: OPERATORS,

  "GET /webhooks": EVERYBODY,
  "POST /webhooks": OPERATORS,
  [`GET ${ENDPOINT}`]: EVERYBODY,
  [`PATCH ${ENDPOINT}`]: OPERATORS,
  [`DELETE ${ENDPOINT}`]: OPERATORS,
  [`POST ${ENDPOINT}/rotate-secret`]: OPERATORS,
  [`POST ${ENDPOINT}/test`]: OPERATORS,
  [`POST ${ENDPOINT}/replay`]: OPERATORS,
  [`GET ${ENDPOINT}/deliveries`]: EVERYBODY,
  [`POST ${ENDPOINT}/deliveries/:deliveryId/redeliver`]: OPERATORS,
};

/** Routes that need no session. */
export const PUBLIC_ROUTES: readonly string[] = [
  "GET /sign-in",
  "GET /sign-in/provider",
  "GET /sign-in/provider/callback",
  "POST /session",
  "POST /session/second-factor",
  "POST /invitations/open",
  "POST /invitations/accept",
  "POST /password-recovery",
  "POST /password-recovery/complete",
];
