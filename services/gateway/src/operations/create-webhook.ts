import { WEBHOOKS_ROUTES } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { webhookOperation } from "./webhook-operation.ts";

/** POST webhooks: a new endpoint and its secret. */
export function createWebhook(needs: Needs): Operation {
  return webhookOperation(needs, WEBHOOKS_ROUTES.createWebhook);
}
