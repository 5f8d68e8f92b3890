import { type InternalRoute, WEBHOOKS_ROUTES } from "@kapi/contracts";
import { addressOf, ApiError, type FastifyRequest, parse } from "@kapi/http";
import { isUuid } from "@kapi/kernel";

import type { Directory, Webhooks, WebhooksRequest } from "../../domain/ports.ts";
import { callerOf } from "../../operations/use-session.ts";
import { AccountPath } from "./server-routes.ts";
import type { SignedInHandler, SignedInRoutes } from "./signed-in-routes.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const ENDPOINT = "/webhooks/:endpointId";

/**
 * Webhook endpoints and their deliveries, with the routes, bodies and responses of the management
 * API below `/webhooks`. Two more routes exist only in the console: an event with its deliveries,
 * and the deliveries of an account. The organization is always that of the session.
 */
export function registerWebhookRoutes(
  routes: SignedInRoutes,
  { webhooks, directory }: { readonly webhooks: Webhooks; readonly directory: Directory },
): void {
  const passed =
    (route: InternalRoute): SignedInHandler =>
    async (signedIn, request, reply) => {
      const asked = { caller: callerOf(signedIn, addressOf(request)), ...requestFor(route, request) };
      const answer = await webhooks(signedIn.user.organizationId, asked);
      if ("rejection" in answer) throw answer.rejection;
      const { status, body } = answer;
      return reply.code(status).type(JSON_TYPE).send(body);
    };

  routes.get("/webhooks", "read", passed(WEBHOOKS_ROUTES.listWebhooks));
  routes.post("/webhooks", "webhooks:manage", passed(WEBHOOKS_ROUTES.createWebhook));
  routes.get(ENDPOINT, "read", passed(WEBHOOKS_ROUTES.getWebhook));
  routes.patch(ENDPOINT, "webhooks:manage", passed(WEBHOOKS_ROUTES.updateWebhook));
  routes.delete(ENDPOINT, "webhooks:manage", passed(WEBHOOKS_ROUTES.deleteWebhook));
  routes.post(`${ENDPOINT}/rotate-secret`, "webhooks:manage", passed(WEBHOOKS_ROUTES.rotateWebhookSecret));
  routes.post(`${ENDPOINT}/test`, "webhooks:manage", passed(WEBHOOKS_ROUTES.testWebhook));
  routes.post(`${ENDPOINT}/replay`, "webhooks:manage", passed(WEBHOOKS_ROUTES.replayWebhook));
  routes.get(`${ENDPOINT}/deliveries`, "read", passed(WEBHOOKS_ROUTES.listWebhookDeliveries));
  routes.post(
    `${ENDPOINT}/deliveries/:deliveryId/redeliver`,
    "webhooks:manage",
    passed(WEBHOOKS_ROUTES.redeliverWebhook),
  );
  routes.get("/events/:eventId", "read", passed(WEBHOOKS_ROUTES.getEvent));
  const accountDeliveries = passed(WEBHOOKS_ROUTES.listAccountDeliveries);
  routes.get("/servers/:serverId/accounts/:accountNumber/deliveries", "read", async (signedIn, request, reply) => {
    const { serverId } = parse(AccountPath, request.params);
    await directory.server(signedIn.user.organizationId, serverId);
    return accountDeliveries(signedIn, request, reply);
  });
}

function requestFor(route: InternalRoute, request: FastifyRequest): Omit<WebhooksRequest, "caller"> {
  const params = idsOf(request);
  return {
    route,
    params,
    ...(route.query === undefined
      ? {}
      : { query: parse(route.query, request.query) as NonNullable<WebhooksRequest["query"]> }),
    ...(route.body === undefined ? {} : { body: parse(route.body, request.body) }),
  };
}

/** Malformed ids return 404: they must not become part of the path of an internal request. */
function idsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  const params = request.params as Readonly<Record<string, string>>;
  const { endpointId, deliveryId, eventId } = params;
  if (endpointId !== undefined && !isUuid(endpointId)) throw new ApiError("ENDPOINT_NOT_FOUND");
  if (deliveryId !== undefined && !isUuid(deliveryId)) throw new ApiError("DELIVERY_NOT_FOUND");
  if (eventId !== undefined && !isUuid(eventId)) {
    throw new ApiError("NOT_FOUND", { text: "Event not found. Events are kept for 30 days" });
  }
  return params;
}
