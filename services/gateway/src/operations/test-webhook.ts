import { WEBHOOKS_ROUTES } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { webhookOperation } from "./webhook-operation.ts";

/** POST a test event for an endpoint. */
export function testWebhook(needs: Needs): Operation {
  return webhookOperation(needs, WEBHOOKS_ROUTES.testWebhook);
}
