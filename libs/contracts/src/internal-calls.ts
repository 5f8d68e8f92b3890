import { ACCOUNT_ROUTES } from "./internal/account.ts";
import { COMMAND_STATUS_ROUTES } from "./internal/command-status.ts";
import { FINANCE_ROUTES } from "./internal/finance.ts";
import { METRICS_ROUTES } from "./internal/metrics.ts";
import { ORGANIZATION_ROUTES } from "./internal/organization.ts";
import type { Caller, InternalRoutes } from "./internal/route.ts";
import { WEBHOOKS_ROUTES } from "./internal/webhooks.ts";

/** Who may call what: the callers of each operation, `GET /internal/organizations`, of one service. */
type CallsOfOwner = Readonly<Record<string, readonly Caller[]>>;

/**
 * Who may call what: of each service its internal operations, and the callers that each one lets in. A service refuses to
 * start with an operation that is not here.
 */
export const INTERNAL_CALLS = {
  account: callsOf(ACCOUNT_ROUTES),
  "command-status": callsOf(COMMAND_STATUS_ROUTES),
  finance: callsOf(FINANCE_ROUTES),
  metrics: callsOf(METRICS_ROUTES),
  organization: callsOf(ORGANIZATION_ROUTES),
  webhooks: callsOf(WEBHOOKS_ROUTES),
} as const;

/** A service with internal operations. */
export type InternalOwner = keyof typeof INTERNAL_CALLS;

/** Who may call an operation, `GET /internal/organizations`; undefined for one that is not in the table. */
export function callersOf(owner: InternalOwner, operation: string): readonly Caller[] | undefined {
  const calls = INTERNAL_CALLS[owner];
  return Object.hasOwn(calls, operation) ? calls[operation] : undefined;
}

function callsOf(routes: InternalRoutes): CallsOfOwner {
  return Object.fromEntries(Object.values(routes).map(({ method, path, callers }) => [`${method} ${path}`, callers]));
}
