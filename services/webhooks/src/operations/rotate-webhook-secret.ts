import type { WebhookEndpoint } from "@kapi/contracts";
import { sealPassword } from "@kapi/kernel";

import type { ChangedBy } from "../domain/audit.ts";
import { OLD_SECRET_MS, toWire } from "../domain/endpoint.ts";
import { newSecret } from "../domain/signature.ts";
import { type EndpointName, found, type WebhookNeeds } from "./webhook-needs.ts";

/**
 * A new secret, in this answer only; the one before signs along for 24 hours. Of two rotations
 * within that the oldest goes at once.
 */
export async function rotateWebhookSecret(
  { endpoints, keys, clock, onChanged }: WebhookNeeds,
  { organizationId, endpointId }: EndpointName,
  by: ChangedBy,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  const nowMs = clock.nowMs();
  const secret = newSecret();
  const sealed = sealPassword(keys, endpointId, secret);
  const oldUntilMs = nowMs + OLD_SECRET_MS;
  const endpoint = found(await endpoints.rotate(organizationId, endpointId, sealed, oldUntilMs, nowMs, by));
  onChanged(endpointId);
  return { endpoint: toWire(endpoint), secret };
}
