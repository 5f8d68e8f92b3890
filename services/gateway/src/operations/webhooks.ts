import { type InternalRoute, WEBHOOKS_ROUTES } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { isUuid } from "@kapi/kernel";

import type { Webhooks } from "../domain/ports.ts";
import { type Call, callerOf, type Operation, type OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { RequestValidator } from "./validate.ts";

/**
 * Webhook endpoints, deliveries and the event feed: each operation is one route of the webhooks
 * service.
 */
export function webhookOperations({
  webhooks,
}: Pick<Dependencies, "webhooks">): OperationTable<
  | "createWebhook"
  | "listWebhooks"
  | "getWebhook"
  | "updateWebhook"
  | "deleteWebhook"
  | "rotateWebhookSecret"
  | "testWebhook"
  | "replayWebhook"
  | "listWebhookDeliveries"
  | "redeliverWebhook"
  | "listEvents"
> {
  return {
    createWebhook: forward(webhooks, WEBHOOKS_ROUTES.createWebhook),
    listWebhooks: forward(webhooks, WEBHOOKS_ROUTES.listWebhooks),
    getWebhook: forward(webhooks, WEBHOOKS_ROUTES.getWebhook),
    updateWebhook: forward(webhooks, WEBHOOKS_ROUTES.updateWebhook),
    deleteWebhook: forward(webhooks, WEBHOOKS_ROUTES.deleteWebhook),
    rotateWebhookSecret: forward(webhooks, WEBHOOKS_ROUTES.rotateWebhookSecret),
    testWebhook: forward(webhooks, WEBHOOKS_ROUTES.testWebhook),
    replayWebhook: forward(webhooks, WEBHOOKS_ROUTES.replayWebhook),
    listWebhookDeliveries: forward(webhooks, WEBHOOKS_ROUTES.listWebhookDeliveries),
    redeliverWebhook: forward(webhooks, WEBHOOKS_ROUTES.redeliverWebhook),
    listEvents: forward(webhooks, WEBHOOKS_ROUTES.listEvents),
  };
}

/**
 * The webhooks service's response, unchanged, or its rejection. A rejection costs the read price, a
 * 429 nothing (decisions, 7.1). Malformed ids in the path are 404.
 */
function forward(webhooks: Webhooks, route: InternalRoute): Operation {
  return async (call) => {
    const validator = new RequestValidator();
    const query = route.query === undefined ? undefined : validator.query(call, route.query);
    const body = route.body === undefined ? undefined : validator.body(call, route.body);
    const error = validator.error() ?? unknownId(call);
    if (error !== null) return call.charge.reject(error);
    await call.charge.change();
    const answer = await webhooks(call.caller.organizationId, {
      route,
      params: call.params,
      ...(query === undefined || query === null ? {} : { query: textsOf(query as Fields) }),
      ...(body === undefined ? {} : { body }),
      caller: callerOf(call),
    });
    if ("rejection" in answer) return call.charge.rejectChange(answer.rejection);
    return { status: route.success ?? 200, body: answer.body };
  };
}

function unknownId({ params }: Call): ApiError | null {
  if (params["endpointId"] !== undefined && !isUuid(params["endpointId"])) return new ApiError("ENDPOINT_NOT_FOUND");
  if (params["deliveryId"] !== undefined && !isUuid(params["deliveryId"])) return new ApiError("DELIVERY_NOT_FOUND");
  return null;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * A parsed query as texts for the URL: lists are joined by commas, undefined values are left out.
 */
function textsOf(query: Fields): Record<string, string> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}
