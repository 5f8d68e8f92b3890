import type { WebhookEndpoint } from "@kapi/contracts";
import { sealPassword } from "@kapi/kernel";

import type { ChangedBy } from "../domain/audit.ts";
import { OLD_SECRET_MS, toWire } from "../domain/endpoint.ts";
import { generateSecret } from "../domain/signature.ts";
import { type EndpointName, requireEndpoint, type WebhookDependencies } from "./webhook-dependencies.ts";

/**
 * Creates a new secret; only this response contains it. The previous secret also signs for 24
 * hours. A second rotation within that time drops the oldest secret.
 */
export async function rotateWebhookSecret(
  { endpoints, keys, clock, onChanged }: WebhookDependencies,
  { organizationId, endpointId }: EndpointName,
  by: ChangedBy,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  const nowMs = clock.nowMs();
  const secret = generateSecret();
  const sealed = sealPassword(keys, endpointId, secret);
  const oldUntilMs = nowMs + OLD_SECRET_MS;
  const endpoint = requireEndpoint(await endpoints.rotate(organizationId, endpointId, sealed, oldUntilMs, nowMs, by));
  onChanged(endpointId);
  return { endpoint: toWire(endpoint), secret };
}
