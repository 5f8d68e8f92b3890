import { type CreateWebhookBody, MAX_WEBHOOK_ENDPOINTS, type WebhookEndpoint } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { sealPassword, uuidV7 } from "@kapi/kernel";

import type { ChangedBy } from "../domain/audit.ts";
import { toWire } from "../domain/endpoint.ts";
import { generateSecret } from "../domain/signature.ts";
import { assertAllowedAddress, type WebhookDependencies } from "./webhook-dependencies.ts";

/** Creates an endpoint. Only this response contains the secret. */
export async function createWebhook(
  { endpoints, guard, saves, keys, clock }: WebhookDependencies,
  organizationId: string,
  { url, description, kinds, serverIds }: CreateWebhookBody,
  by: ChangedBy,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  await assertAllowedAddress({ guard, saves }, organizationId, url);
  const nowMs = clock.nowMs();
  const id = uuidV7(nowMs);
  const secret = generateSecret();
  const draft = { id, organizationId, url, description, kinds, serverIds, secret: sealPassword(keys, id, secret) };
  const endpoint = await endpoints.create(draft, MAX_WEBHOOK_ENDPOINTS, nowMs, by);
  if (endpoint === null) throw new ApiError("TOO_MANY_ENDPOINTS");
  return { endpoint: toWire(endpoint), secret };
}
