import type { Clock, Keyring } from "@kapi/kernel";
import { ApiError } from "@kapi/http";

import type { Endpoint } from "../domain/endpoint.ts";
import type { AddressGuard, DeliveryStore, EndpointName, EndpointStore, EventStore } from "../domain/ports.ts";
import type { IncomingEvent } from "../domain/facts.ts";

export type { EndpointName };

/** What the operations of the management API need. */
export interface WebhookNeeds {
  readonly endpoints: EndpointStore;
  readonly events: EventStore;
  readonly deliveries: DeliveryStore;
  readonly guard: AddressGuard;
  readonly keys: Keyring;
  readonly takeIn: (events: readonly IncomingEvent[]) => Promise<void>;
  /** The endpoint has changed: what is known of it is read anew. */
  readonly onChanged: (endpointId: string) => void;
  /** Nothing is to be sent to the endpoint any more. */
  readonly onEnded: (endpointId: string) => void;
  /** The endpoint has something due. */
  readonly onDue: (endpoint: EndpointName) => void;
  readonly clock: Clock;
}

/** @throws ApiError ENDPOINT_NOT_FOUND where the organization has none of this id. */
export function found<T>(endpoint: T | null): T {
  if (endpoint === null) throw new ApiError("ENDPOINT_NOT_FOUND");
  return endpoint;
}

/** The endpoint, which is enabled. @throws ApiError ENDPOINT_NOT_FOUND, ENDPOINT_DISABLED. */
export async function enabledEndpoint(
  { endpoints }: Pick<WebhookNeeds, "endpoints">,
  { organizationId, endpointId }: EndpointName,
): Promise<Endpoint> {
  const endpoint = found(await endpoints.get(organizationId, endpointId));
  if (endpoint.status !== "enabled") throw new ApiError("ENDPOINT_DISABLED");
  return endpoint;
}

/** @throws ApiError WEBHOOK_URL_REFUSED, with the reason. */
export async function refuseBadAddress(guard: AddressGuard, url: string): Promise<void> {
  const reason = await guard.refusal(url);
  if (reason === null) return;
  throw new ApiError("WEBHOOK_URL_REFUSED", {
    text: `The address cannot be used: ${reason}`,
    issues: [{ path: ["url"], code: "url_refused", message: reason }],
  });
}
