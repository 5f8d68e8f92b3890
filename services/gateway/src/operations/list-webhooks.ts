import { WEBHOOKS_ROUTES } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { webhookOperation } from "./webhook-operation.ts";

/** GET webhooks: the organization's endpoints. */
export function listWebhooks(needs: Needs): Operation {
  return webhookOperation(needs, WEBHOOKS_ROUTES.listWebhooks);
}
