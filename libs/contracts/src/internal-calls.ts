import { ACCOUNT_ROUTES } from "./internal/account.ts";
import { COMMAND_STATUS_ROUTES } from "./internal/command-status.ts";
import { FINANCE_ROUTES } from "./internal/finance.ts";
import { METRICS_ROUTES } from "./internal/metrics.ts";
import type { Caller, InternalRoutes } from "./internal/route.ts";
import { WEBHOOKS_ROUTES } from "./internal/webhooks.ts";

const GATEWAY = ["gateway"] as const;
const OPERATOR = ["operator"] as const;

const ORGANIZATION_PATH = "/internal/organizations/:organizationId";
/**
 * Who may call what: of each service its internal operations, and the callers that each one lets in. A service refuses to
 * start with an operation that is not here.
 */
export const INTERNAL_CALLS = {
  account: callsOf(ACCOUNT_ROUTES),
  "command-status": callsOf(COMMAND_STATUS_ROUTES),
  finance: callsOf(FINANCE_ROUTES),
  metrics: callsOf(METRICS_ROUTES),
  organization: {
    [`GET ${ORGANIZATION_PATH}/credits/usage`]: GATEWAY,
    "GET /internal/audit": OPERATOR,
    "GET /internal/organizations": OPERATOR,
    "POST /internal/organizations": OPERATOR,
    [`GET ${ORGANIZATION_PATH}/users`]: OPERATOR,
    [`POST ${ORGANIZATION_PATH}/users`]: OPERATOR,
    [`GET ${ORGANIZATION_PATH}/keys`]: OPERATOR,
    [`POST ${ORGANIZATION_PATH}/keys`]: OPERATOR,
    [`GET ${ORGANIZATION_PATH}/servers`]: OPERATOR,
    [`POST ${ORGANIZATION_PATH}/servers`]: OPERATOR,
    [`GET ${ORGANIZATION_PATH}/credits`]: OPERATOR,
    [`POST ${ORGANIZATION_PATH}/credits`]: OPERATOR,
    "DELETE /internal/keys/:keyId": OPERATOR,
    "PUT /internal/prices": OPERATOR,
    "PUT /internal/users/:userId/password": OPERATOR,
    "DELETE /internal/users/:userId": OPERATOR,
  },
  webhooks: callsOf(WEBHOOKS_ROUTES),
} as const satisfies Record<string, Readonly<Record<string, readonly Caller[]>>>;

/** A service with internal operations. */
export type InternalOwner = keyof typeof INTERNAL_CALLS;

/** Who may call an operation, `GET /internal/organizations`; undefined for one that is not in the table. */
export function callersOf(owner: InternalOwner, operation: string): readonly Caller[] | undefined {
  const calls: Readonly<Record<string, readonly Caller[]>> = INTERNAL_CALLS[owner];
  return Object.hasOwn(calls, operation) ? calls[operation] : undefined;
}

function callsOf(routes: InternalRoutes): Readonly<Record<string, readonly Caller[]>> {
  return Object.fromEntries(Object.values(routes).map(({ method, path, callers }) => [`${method} ${path}`, callers]));
}
