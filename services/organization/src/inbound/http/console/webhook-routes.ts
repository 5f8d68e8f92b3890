import { CreateWebhookBody, ListDeliveriesQuery, ReplayWebhookBody, UpdateWebhookBody } from "@kapi/contracts";
import { addressOf, ApiError, type FastifyReply, type FastifyRequest, parse } from "@kapi/http";
import { isUuid } from "@kapi/kernel";

import type { WebhooksRequest } from "../../../domain/console-ports.ts";
import { askWebhooks } from "../../../operations/ask-webhooks.ts";
import type { ConsoleContext } from "../../../operations/console-context.ts";
import { callerOf, type SignedIn } from "../../../operations/use-session.ts";
import type { SignedInHandler, SignedInRoutes } from "./signed-in-routes.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const ENDPOINT = "/webhooks/:endpointId";
const DELIVERY = `${ENDPOINT}/deliveries/:deliveryId`;

/**
 * The organization's webhook endpoints and what was sent to them: the same routes, bodies and answers as the management API
 * has below `/webhooks`. The organization is that of the session, whatever else a request names.
 */
export function installWebhookRoutes(routes: SignedInRoutes, context: ConsoleContext): void {
  const passed =
    (requestOf: (request: FastifyRequest) => Omit<WebhooksRequest, "method" | "caller">): SignedInHandler =>
    async (signedIn: SignedIn, request: FastifyRequest, reply: FastifyReply) => {
      const { method } = request;
      const asked = { method, caller: callerOf(signedIn, addressOf(request)), ...requestOf(request) };
      const { status, body } = await askWebhooks(context, signedIn.user.organizationId, asked);
      return reply.code(status).type(JSON_TYPE).send(body);
    };
  const ofEndpoint = (below = ""): SignedInHandler => passed((request) => ({ path: endpointOf(request) + below }));

  routes.get(
    "/webhooks",
    passed(() => ({ path: "/webhooks" })),
  );
  routes.post(
    "/webhooks",
    passed(({ body }) => ({ path: "/webhooks", body: parse(CreateWebhookBody, body) })),
  );
  routes.get(ENDPOINT, ofEndpoint());
  routes.patch(
    ENDPOINT,
    passed((request) => ({ path: endpointOf(request), body: parse(UpdateWebhookBody, request.body) })),
  );
  routes.delete(ENDPOINT, ofEndpoint());
  routes.post(`${ENDPOINT}/rotate-secret`, ofEndpoint("/rotate-secret"));
  routes.post(`${ENDPOINT}/test`, ofEndpoint("/test"));
  routes.post(
    `${ENDPOINT}/replay`,
    passed((request) => ({ path: `${endpointOf(request)}/replay`, body: parse(ReplayWebhookBody, request.body) })),
  );
  routes.get(
    `${ENDPOINT}/deliveries`,
    passed((request) => ({
      path: `${endpointOf(request)}/deliveries`,
      query: parse(ListDeliveriesQuery, request.query),
    })),
  );
  routes.post(
    `${DELIVERY}/redeliver`,
    passed((request) => ({ path: `${deliveryOf(request)}/redeliver` })),
  );
}

/** An id that is none names no endpoint: 404, and it gets into no path. */
function endpointOf({ params }: FastifyRequest): string {
  const { endpointId = "" } = params as Readonly<Record<string, string | undefined>>;
  if (!isUuid(endpointId)) throw new ApiError("ENDPOINT_NOT_FOUND");
  return `/webhooks/${endpointId}`;
}

function deliveryOf(request: FastifyRequest): string {
  const { deliveryId = "" } = request.params as Readonly<Record<string, string | undefined>>;
  const endpoint = endpointOf(request);
  if (!isUuid(deliveryId)) throw new ApiError("DELIVERY_NOT_FOUND");
  return `${endpoint}/deliveries/${deliveryId}`;
}
