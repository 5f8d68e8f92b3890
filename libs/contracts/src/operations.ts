import type { PriceClass } from "./prices.ts";
import type { Scope } from "./scopes.ts";

/** One row of the interface's operation table, for the operations that are served. */
export interface OperationContract {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Fastify form: `:name` for a path parameter. */
  readonly path: string;
  readonly scope: Scope;
  /** Marked IK: requires the header `Idempotency-Key`. */
  readonly idempotencyKey: boolean;
  readonly price: PriceClass;
  readonly success: readonly number[];
  readonly errors: readonly number[];
  /** Whether the path names a server, so that access to it is checked. */
  readonly server: boolean;
}

const SERVER = "/api/v1/management/servers/:serverId";
const ACCOUNT = `${SERVER}/accounts/:accountNumber`;

/** The operations served over HTTP, by the interface's own names. */
export const OPERATIONS = {
  getCreditBalance: {
    method: "GET",
    path: "/api/v1/management/credits/balance",
    scope: "credits:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [401, 402, 403, 404, 500],
    server: false,
  },
  getServerConfiguration: {
    method: "GET",
    path: `${SERVER}/configuration`,
    scope: "accounts:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [400, 401, 402, 403, 500],
    server: true,
  },
  listTradingAccounts: {
    method: "GET",
    path: `${SERVER}/accounts`,
    scope: "accounts:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [400, 401, 402, 403, 500],
    server: true,
  },
  createTradingAccount: {
    method: "POST",
    path: `${SERVER}/accounts`,
    scope: "accounts:create",
    idempotencyKey: true,
    price: "create",
    success: [200, 202],
    errors: [400, 401, 402, 403, 404, 409, 500],
    server: true,
  },
  getTradingAccount: {
    method: "GET",
    path: ACCOUNT,
    scope: "accounts:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [400, 401, 402, 403, 404, 500],
    server: true,
  },
  depositAccountFunds: {
    method: "POST",
    path: `${ACCOUNT}/finance/deposits`,
    scope: "finance:deposit",
    idempotencyKey: true,
    price: "mutation",
    success: [200, 202],
    errors: [400, 401, 402, 403, 404, 500],
    server: true,
  },
  withdrawAccountFunds: {
    method: "POST",
    path: `${ACCOUNT}/finance/withdrawals`,
    scope: "finance:withdraw",
    idempotencyKey: true,
    price: "mutation",
    success: [200, 202],
    errors: [400, 401, 402, 403, 404, 500],
    server: true,
  },
  getCommand: {
    method: "GET",
    path: "/api/v1/management/commands/:commandId",
    scope: "accounts:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [401, 402, 403, 404, 500],
    server: false,
  },
} as const satisfies Record<string, OperationContract>;

export type OperationId = keyof typeof OPERATIONS;

/** Path of the live stream on the stream's own address (interface, "Events"). */
export const LIVE_METRICS_PATH = "/api/v1/management/live-metrics";
/** The live stream needs this scope on the handshake. */
export const LIVE_METRICS_SCOPE: Scope = "metrics:read";
