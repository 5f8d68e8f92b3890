import type { UpdateWebhookBody, WebhookEndpoint } from "@kapi/contracts";

import type { ChangedBy } from "../domain/audit.ts";
import { toWire } from "../domain/endpoint.ts";
import {
  type EndpointName,
  requireEndpoint,
  assertAllowedAddress,
  type WebhookDependencies,
} from "./webhook-dependencies.ts";

/**
 * Changes the given fields of an endpoint. Disabling cancels its deliveries that wait for their
 * first attempt or for a retry.
 */
export async function updateWebhook(
  { endpoints, guard, saves, clock, onChanged, onDeactivated }: WebhookDependencies,
  { organizationId, endpointId }: EndpointName,
  change: UpdateWebhookBody,
  by: ChangedBy,
): Promise<{ endpoint: WebhookEndpoint }> {
  requireEndpoint(await endpoints.get(organizationId, endpointId));
  if (change.url !== undefined) await assertAllowedAddress({ guard, saves }, organizationId, change.url);
  const endpoint = requireEndpoint(await endpoints.update(organizationId, endpointId, change, clock.nowMs(), by));
  onChanged(endpointId);
  if (endpoint.status === "disabled") onDeactivated(endpointId);
  return { endpoint: toWire(endpoint) };
}
