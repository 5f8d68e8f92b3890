import type { WebhookDelivery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { enabledEndpoint, type EndpointName, type WebhookDependencies } from "./webhook-dependencies.ts";

/** Starts a delivery again; its `webhook-id` stays the same. A running delivery is unchanged. */
export async function redeliverWebhook(
  dependencies: WebhookDependencies,
  name: EndpointName,
  deliveryId: string,
): Promise<{ delivery: WebhookDelivery }> {
  await enabledEndpoint(dependencies, name);
  const delivery = await dependencies.deliveries.redeliver(name.endpointId, deliveryId, dependencies.clock.nowMs());
  if (delivery === null) throw new ApiError("DELIVERY_NOT_FOUND");
  dependencies.onDue(name);
  return { delivery };
}
