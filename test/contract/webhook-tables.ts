/**
 * The webhook operations (decisions, 11), transcribed by hand: scopes, prices, statuses and bodies.
 */
import type { Method, PRICES } from "./interface-tables.ts";

export interface WebhookRow {
  readonly name: string;
  readonly method: Method;
  readonly path: string;
  readonly scope: "webhooks:read" | "webhooks:manage";
  readonly success: 200 | 201 | 202;
  readonly errors: readonly number[];
  readonly price: keyof typeof PRICES;
  readonly body?: object;
  /** An invalid query or body, and the field that the error names. */
  readonly wrong?: { readonly query?: string; readonly body?: object; readonly field: string };
}

const ROOT = "/api/v1/management";
const WEBHOOKS = `${ROOT}/webhooks`;
const ENDPOINT = `${WEBHOOKS}/{endpointId}`;
const WITH_404 = [400, 401, 402, 403, 404, 500] as const;
const WITHOUT_404 = [400, 401, 402, 403, 500] as const;
const WITHOUT_400 = [401, 402, 403, 404, 500] as const;
const READ = { method: "GET", scope: "webhooks:read", success: 200, price: "read" } as const;
const CHANGE = { method: "POST", scope: "webhooks:manage", success: 200, price: "mutation" } as const;

export const WEBHOOK_OPERATIONS: readonly WebhookRow[] = [
  {
    ...CHANGE,
    name: "Create webhook",
    path: WEBHOOKS,
    success: 201,
    errors: WITHOUT_404,
    body: { url: "http://127.0.0.1:9/contract", kinds: ["position.closed"] },
    wrong: { body: { url: "http://127.0.0.1:9/", kinds: ["position.moved"] }, field: "kinds" },
  },
  { ...READ, name: "List webhooks", path: WEBHOOKS, errors: [401, 402, 403, 500] },
  { ...READ, name: "Get webhook", path: ENDPOINT, errors: WITHOUT_400 },
  {
    ...CHANGE,
    name: "Update webhook",
    method: "PATCH",
    path: ENDPOINT,
    errors: WITH_404,
    body: { description: "Contract" },
    wrong: { body: { status: "asleep" }, field: "status" },
  },
  { ...CHANGE, name: "Rotate webhook secret", path: `${ENDPOINT}/rotate-secret`, errors: WITHOUT_400 },
  { ...CHANGE, name: "Test webhook", path: `${ENDPOINT}/test`, success: 202, errors: WITH_404 },
  {
    ...CHANGE,
    name: "Replay webhook",
    path: `${ENDPOINT}/replay`,
    success: 202,
    errors: WITH_404,
    body: { since: "2100-01-01T00:00:00Z" },
    wrong: { body: { since: "yesterday" }, field: "since" },
  },
  {
    ...READ,
    name: "List webhook deliveries",
    path: `${ENDPOINT}/deliveries`,
    errors: WITH_404,
    wrong: { query: "?status=lost", field: "status" },
  },
  {
    ...CHANGE,
    name: "Redeliver webhook",
    path: `${ENDPOINT}/deliveries/{deliveryId}/redeliver`,
    success: 202,
    errors: WITH_404,
  },
  {
    ...READ,
    name: "List events",
    path: `${ROOT}/events`,
    errors: WITHOUT_404,
    wrong: { query: "?limit=1001", field: "limit" },
  },
  { ...CHANGE, name: "Delete webhook", method: "DELETE", path: ENDPOINT, errors: WITHOUT_400 },
];
