import type { UpdateWebhookBody, WebhookEndpoint } from "@kapi/contracts";

import type { ChangedBy } from "../domain/audit.ts";
import { toWire } from "../domain/endpoint.ts";
import { type EndpointName, found, refuseBadAddress, type WebhookNeeds } from "./webhook-needs.ts";

/** Changes an endpoint; what is not given stays. Disabling cancels what was not sent yet. */
export async function updateWebhook(
  { endpoints, guard, saves, clock, onChanged, onEnded }: WebhookNeeds,
  { organizationId, endpointId }: EndpointName,
  change: UpdateWebhookBody,
  by: ChangedBy,
): Promise<{ endpoint: WebhookEndpoint }> {
  found(await endpoints.get(organizationId, endpointId));
  if (change.url !== undefined) await refuseBadAddress({ guard, saves }, organizationId, change.url);
  const endpoint = found(await endpoints.update(organizationId, endpointId, change, clock.nowMs(), by));
  onChanged(endpointId);
  if (endpoint.status === "disabled") onEnded(endpointId);
  return { endpoint: toWire(endpoint) };
}
