import { ACCOUNT_ROUTES } from "./internal/account.ts";
import { COMMAND_STATUS_ROUTES } from "./internal/command-status.ts";
import { CONSOLE_ROUTES } from "./internal/console.ts";
import { FINANCE_ROUTES } from "./internal/finance.ts";
import { GATEWAY_ROUTES } from "./internal/gateway.ts";
import { METRICS_ROUTES } from "./internal/metrics.ts";
import { ORGANIZATION_ROUTES } from "./internal/organization.ts";
import { RISK_ROUTES } from "./internal/risk.ts";
import type { Caller, InternalRoutes } from "./internal/route.ts";
import { WEBHOOKS_ROUTES } from "./internal/webhooks.ts";

/**
 * The callers that may call each route of one service, by method and path:
 * `GET /internal/organizations`.
 */
type CallsOfOwner = Readonly<Record<string, readonly Caller[]>>;

/**
 * Which caller may call which internal route, by the service that owns the route. A service with a
 * route that is not in this table does not start.
 */
export const INTERNAL_CALLS = {
  account: callsOf(ACCOUNT_ROUTES),
  "command-status": callsOf(COMMAND_STATUS_ROUTES),
  console: callsOf(CONSOLE_ROUTES),
  finance: callsOf(FINANCE_ROUTES),
  gateway: callsOf(GATEWAY_ROUTES),
  metrics: callsOf(METRICS_ROUTES),
  organization: callsOf(ORGANIZATION_ROUTES),
  risk: callsOf(RISK_ROUTES),
  webhooks: callsOf(WEBHOOKS_ROUTES),
} as const;

/** A service with internal routes. */
export type InternalOwner = keyof typeof INTERNAL_CALLS;

/**
 * The callers that may call a route, such as `GET /internal/organizations`; undefined for an
 * unknown route.
 */
export function callersOf(owner: InternalOwner, route: string): readonly Caller[] | undefined {
  const calls = INTERNAL_CALLS[owner];
  return Object.hasOwn(calls, route) ? calls[route] : undefined;
}

function callsOf(routes: InternalRoutes): CallsOfOwner {
  return Object.fromEntries(Object.values(routes).map(({ method, path, callers }) => [`${method} ${path}`, callers]));
}
