import { WEBHOOKS_ROUTES } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { webhookOperation } from "./webhook-operation.ts";

/** POST the events of a time to an endpoint again. */
export function replayWebhook(needs: Needs): Operation {
  return webhookOperation(needs, WEBHOOKS_ROUTES.replayWebhook);
}
