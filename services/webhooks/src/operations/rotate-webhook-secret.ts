import type { WebhookEndpoint } from "@kapi/contracts";
import { sealPassword } from "@kapi/kernel";

import { OLD_SECRET_MS, toWire } from "../domain/endpoint.ts";
import { newSecret } from "../domain/signature.ts";
import { type EndpointName, found, type WebhookNeeds } from "./webhook-needs.ts";

/** A new secret, in this answer only; the one before signs along for 24 hours. Of two rotations within that the oldest goes at once. */
export async function rotateWebhookSecret(
  { endpoints, keys, clock, onChanged }: WebhookNeeds,
  { organizationId, endpointId }: EndpointName,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  const nowMs = clock.nowMs();
  const secret = newSecret();
  const sealed = sealPassword(keys, endpointId, secret);
  const endpoint = found(await endpoints.rotate(organizationId, endpointId, sealed, nowMs + OLD_SECRET_MS, nowMs));
  onChanged(endpointId);
  return { endpoint: toWire(endpoint), secret };
}
