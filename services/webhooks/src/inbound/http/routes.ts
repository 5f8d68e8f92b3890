/**
 * Internal routes: one for each webhook operation of the API, with its exact response, and reads
 * for the console.
 */
import { type PathParameters, WEBHOOKS_ROUTES } from "@kapi/contracts";
import { ApiError, callerOf, type FastifyInstance, serve, serveRaw } from "@kapi/http";
import { isUuid } from "@kapi/kernel";

import { toWire } from "../../domain/endpoint.ts";
import { createWebhook } from "../../operations/create-webhook.ts";
import { deleteWebhook } from "../../operations/delete-webhook.ts";
import { getEvent, listAccountDeliveries } from "../../operations/event-deliveries.ts";
import { listEvents } from "../../operations/list-events.ts";
import { redeliverWebhook } from "../../operations/redeliver-webhook.ts";
import { replayWebhook } from "../../operations/replay-webhook.ts";
import { rotateWebhookSecret } from "../../operations/rotate-webhook-secret.ts";
import { testWebhook } from "../../operations/test-webhook.ts";
import { updateWebhook } from "../../operations/update-webhook.ts";
import { type EndpointName, requireEndpoint, type WebhookDependencies } from "../../operations/webhook-dependencies.ts";

/** Adds the internal routes of the webhook operations, and the reads for the console. */
export function registerWebhookRoutes(app: FastifyInstance, dependencies: WebhookDependencies): void {
  serve(app, WEBHOOKS_ROUTES.createWebhook, ({ params, body }, { headers }) =>
    createWebhook(dependencies, params.organizationId, body, callerOf(headers)),
  );
  serve(app, WEBHOOKS_ROUTES.listWebhooks, async ({ params }) => ({
    endpoints: (await dependencies.endpoints.list(params.organizationId)).map(toWire),
  }));
  serve(app, WEBHOOKS_ROUTES.getWebhook, async ({ params }) => {
    const { organizationId, endpointId } = nameOf(params);
    return { endpoint: toWire(requireEndpoint(await dependencies.endpoints.get(organizationId, endpointId))) };
  });
  serve(app, WEBHOOKS_ROUTES.updateWebhook, ({ params, body }, { headers }) =>
    updateWebhook(dependencies, nameOf(params), body, callerOf(headers)),
  );
  serve(app, WEBHOOKS_ROUTES.deleteWebhook, ({ params }, { headers }) =>
    deleteWebhook(dependencies, nameOf(params), callerOf(headers)),
  );
  serve(app, WEBHOOKS_ROUTES.rotateWebhookSecret, ({ params }, { headers }) =>
    rotateWebhookSecret(dependencies, nameOf(params), callerOf(headers)),
  );
  serve(app, WEBHOOKS_ROUTES.testWebhook, ({ params }) => testWebhook(dependencies, nameOf(params)));
  serve(app, WEBHOOKS_ROUTES.replayWebhook, ({ params, body }) => replayWebhook(dependencies, nameOf(params), body));
  serve(app, WEBHOOKS_ROUTES.listWebhookDeliveries, async ({ params, query }) => {
    const { organizationId, endpointId } = nameOf(params);
    requireEndpoint(await dependencies.endpoints.get(organizationId, endpointId));
    return dependencies.deliveries.list(endpointId, { ...query, nowMs: dependencies.clock.nowMs() });
  });
  serve(app, WEBHOOKS_ROUTES.redeliverWebhook, ({ params }) => {
    if (!isUuid(params.deliveryId)) throw new ApiError("DELIVERY_NOT_FOUND");
    return redeliverWebhook(dependencies, nameOf(params), params.deliveryId);
  });
  serve(app, WEBHOOKS_ROUTES.getEvent, ({ params }) => getEvent(dependencies, params.organizationId, params.eventId));
  serve(app, WEBHOOKS_ROUTES.listAccountDeliveries, ({ params, query }) =>
    listAccountDeliveries(dependencies, params, query),
  );
  serveRaw(app, WEBHOOKS_ROUTES.listEvents, async ({ params, query }, _request, reply) => {
    const body = await listEvents(dependencies.events, params.organizationId, query);
    return reply.header("content-type", "application/json; charset=utf-8").send(body);
  });
}

/** Malformed endpoint ids return 404. */
function nameOf({ organizationId, endpointId }: PathParameters<typeof WEBHOOKS_ROUTES.getWebhook>): EndpointName {
  return requireEndpoint(isUuid(endpointId) ? { organizationId, endpointId: endpointId.toLowerCase() } : null);
}
