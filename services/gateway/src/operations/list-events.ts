import { WEBHOOKS_ROUTES } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { webhookOperation } from "./webhook-operation.ts";

/** GET the feed of events. */
export function listEvents(needs: Needs): Operation {
  return webhookOperation(needs, WEBHOOKS_ROUTES.listEvents);
}
