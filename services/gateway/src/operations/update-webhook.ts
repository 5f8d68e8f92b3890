import { WEBHOOKS_ROUTES } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { webhookOperation } from "./webhook-operation.ts";

/** PATCH an endpoint. */
export function updateWebhook(needs: Needs): Operation {
  return webhookOperation(needs, WEBHOOKS_ROUTES.updateWebhook);
}
