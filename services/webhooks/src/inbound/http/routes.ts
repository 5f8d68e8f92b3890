/** The internal routes of the webhooks service: one for each operation of the management API, with its exact answer. */
import {
  CreateWebhookBody,
  Guid,
  ListDeliveriesQuery,
  ListEventsQuery,
  paginationOf,
  ReplayWebhookBody,
  UpdateWebhookBody,
} from "@kapi/contracts";
import { ApiError, callerOf, type FastifyInstance, type FastifyRequest, parse } from "@kapi/http";
import { isUuid } from "@kapi/kernel";
import { z } from "zod";

import { toWire } from "../../domain/endpoint.ts";
import { createWebhook } from "../../operations/create-webhook.ts";
import { deleteWebhook } from "../../operations/delete-webhook.ts";
import { listEvents } from "../../operations/list-events.ts";
import { redeliverWebhook } from "../../operations/redeliver-webhook.ts";
import { replayWebhook } from "../../operations/replay-webhook.ts";
import { rotateWebhookSecret } from "../../operations/rotate-webhook-secret.ts";
import { testWebhook } from "../../operations/test-webhook.ts";
import { updateWebhook } from "../../operations/update-webhook.ts";
import { type EndpointName, found, type WebhookNeeds } from "../../operations/webhook-needs.ts";

const ORGANIZATION = "/internal/organizations/:organizationId";
const ENDPOINT = `${ORGANIZATION}/webhooks/:endpointId`;
const CREATED = 201;
const ACCEPTED = 202;

const OrganizationPath = z.object({ organizationId: Guid });

/** Registers the routes; all of them are below /internal. */
export function registerRoutes(app: FastifyInstance, needs: WebhookNeeds): void {
  app.post(`${ORGANIZATION}/webhooks`, async (request, reply) => {
    const body = parse(CreateWebhookBody, request.body);
    const answer = await createWebhook(needs, organizationOf(request), body, callerOf(request.headers));
    return reply.code(CREATED).send(answer);
  });
  app.get(`${ORGANIZATION}/webhooks`, async (request) => ({
    endpoints: (await needs.endpoints.list(organizationOf(request))).map(toWire),
  }));
  app.get(ENDPOINT, async (request) => {
    const { organizationId, endpointId } = nameOf(request);
    return { endpoint: toWire(found(await needs.endpoints.get(organizationId, endpointId))) };
  });
  app.patch(ENDPOINT, (request) => {
    const change = parse(UpdateWebhookBody, request.body);
    return updateWebhook(needs, nameOf(request), change, callerOf(request.headers));
  });
  app.delete(ENDPOINT, (request) => deleteWebhook(needs, nameOf(request), callerOf(request.headers)));
  app.post(`${ENDPOINT}/rotate-secret`, (request) =>
    rotateWebhookSecret(needs, nameOf(request), callerOf(request.headers)),
  );
  app.post(`${ENDPOINT}/test`, async (request, reply) =>
    reply.code(ACCEPTED).send(await testWebhook(needs, nameOf(request))),
  );
  app.post(`${ENDPOINT}/replay`, async (request, reply) => {
    const body = parse(ReplayWebhookBody, request.body);
    return reply.code(ACCEPTED).send(await replayWebhook(needs, nameOf(request), body));
  });
  app.get(`${ENDPOINT}/deliveries`, async (request) => {
    const { organizationId, endpointId } = nameOf(request);
    const query = parse(ListDeliveriesQuery, request.query);
    found(await needs.endpoints.get(organizationId, endpointId));
    const { status = null, type = null, page, limit } = query;
    const nowMs = needs.clock.nowMs();
    const { deliveries, total } = await needs.deliveries.list(endpointId, { page, limit, status, type, nowMs });
    return { deliveries, pagination: paginationOf(query, total) };
  });
  app.post(`${ENDPOINT}/deliveries/:deliveryId/redeliver`, async (request, reply) => {
    const { deliveryId = "" } = paramsOf(request);
    if (!isUuid(deliveryId)) throw new ApiError("DELIVERY_NOT_FOUND");
    return reply.code(ACCEPTED).send(await redeliverWebhook(needs, nameOf(request), deliveryId));
  });
  app.get(`${ORGANIZATION}/events`, async (request, reply) => {
    const query = parse(ListEventsQuery, request.query);
    const body = await listEvents(needs.events, organizationOf(request), query);
    return reply.header("content-type", "application/json; charset=utf-8").send(body);
  });
}

function organizationOf(request: FastifyRequest): string {
  return parse(OrganizationPath, request.params).organizationId;
}

/** An id that is none names no endpoint: 404. */
function nameOf(request: FastifyRequest): EndpointName {
  const { endpointId = "" } = paramsOf(request);
  const name = isUuid(endpointId)
    ? { organizationId: organizationOf(request), endpointId: endpointId.toLowerCase() }
    : null;
  return found(name);
}

function paramsOf(request: FastifyRequest): Readonly<Record<string, string | undefined>> {
  return request.params as Readonly<Record<string, string | undefined>>;
}
