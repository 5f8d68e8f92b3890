import type { ChangedBy } from "../domain/audit.ts";
import { type EndpointName, requireEndpoint, type WebhookDependencies } from "./webhook-dependencies.ts";

/** Deletes an endpoint and cancels its open deliveries, except running ones. */
export async function deleteWebhook(
  { endpoints, clock, onChanged, onDeactivated }: WebhookDependencies,
  { organizationId, endpointId }: EndpointName,
  by: ChangedBy,
): Promise<{ id: string; deleted: true }> {
  const deleted = await endpoints.delete(organizationId, endpointId, clock.nowMs(), by);
  requireEndpoint(deleted ? endpointId : null);
  onChanged(endpointId);
  onDeactivated(endpointId);
  return { id: endpointId, deleted: true };
}
