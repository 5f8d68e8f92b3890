import { toIso, uuidV7 } from "@kapi/kernel";
import { activeTraceparent } from "@kapi/runtime";

import { testEvent } from "../domain/facts.ts";
import { enabledEndpoint, type EndpointName, type WebhookNeeds } from "./webhook-needs.ts";

/** Sends a `webhook.test` to this endpoint alone, whatever kinds it takes. */
export async function testWebhook(needs: WebhookNeeds, name: EndpointName): Promise<{ eventId: string }> {
  const endpoint = await enabledEndpoint(needs, name);
  const nowMs = needs.clock.nowMs();
  const eventId = uuidV7(nowMs);
  await needs.takeIn([{ ...testEvent(endpoint, eventId, toIso(nowMs)), traceparent: activeTraceparent() }]);
  return { eventId };
}
