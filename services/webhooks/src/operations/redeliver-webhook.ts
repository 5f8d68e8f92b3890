import type { WebhookDelivery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { enabledEndpoint, type EndpointName, type WebhookNeeds } from "./webhook-needs.ts";

/** Begins a delivery again, with the same id; one that is under way goes on. */
export async function redeliverWebhook(
  needs: WebhookNeeds,
  name: EndpointName,
  deliveryId: string,
): Promise<{ delivery: WebhookDelivery }> {
  await enabledEndpoint(needs, name);
  const delivery = await needs.deliveries.redeliver(name.endpointId, deliveryId, needs.clock.nowMs());
  if (delivery === null) throw new ApiError("DELIVERY_NOT_FOUND");
  needs.onDue(name);
  return { delivery };
}
