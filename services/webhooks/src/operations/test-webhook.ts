import { toIso, uuidV7 } from "@kapi/kernel";
import { activeTraceparent } from "@kapi/runtime";

import { testEvent } from "../domain/events.ts";
import { enabledEndpoint, type EndpointName, type WebhookDependencies } from "./webhook-dependencies.ts";

/** Sends a `webhook.test` to this endpoint only, whatever its subscriptions. */
export async function testWebhook(dependencies: WebhookDependencies, name: EndpointName): Promise<{ eventId: string }> {
  const endpoint = await enabledEndpoint(dependencies, name);
  const nowMs = dependencies.clock.nowMs();
  const eventId = uuidV7(nowMs);
  await dependencies.recordEvents([
    { ...testEvent(endpoint, eventId, toIso(nowMs)), traceparent: activeTraceparent() },
  ]);
  return { eventId };
}
