import type { ChangedBy } from "../domain/audit.ts";
import { type EndpointName, found, type WebhookNeeds } from "./webhook-needs.ts";

/** Deletes an endpoint and cancels what was not sent yet. */
export async function deleteWebhook(
  { endpoints, clock, onChanged, onEnded }: WebhookNeeds,
  { organizationId, endpointId }: EndpointName,
  by: ChangedBy,
): Promise<{ id: string; deleted: true }> {
  const deleted = await endpoints.delete(organizationId, endpointId, clock.nowMs(), by);
  found(deleted ? endpointId : null);
  onChanged(endpointId);
  onEnded(endpointId);
  return { id: endpointId, deleted: true };
}
