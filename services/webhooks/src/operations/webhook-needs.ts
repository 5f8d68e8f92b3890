import { HEADERS } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { Clock, Keyring, OrganizationSlots } from "@kapi/kernel";

import type { Endpoint } from "../domain/endpoint.ts";
import type { AddressGuard, DeliveryStore, EndpointName, EndpointStore, EventStore } from "../domain/ports.ts";
import type { IncomingEvent } from "../domain/facts.ts";

export type { EndpointName };

/** What Retry-After says where an organization has its share of saves under way, in seconds. */
const RETRY_AFTER_SECONDS = "1";

/** What the operations of the management API need. */
export interface WebhookNeeds {
  readonly endpoints: EndpointStore;
  readonly events: EventStore;
  readonly deliveries: DeliveryStore;
  readonly guard: AddressGuard;
  /** Saves under way. Each may wait for a name server. */
  readonly saves: OrganizationSlots;
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

/**
 * @throws ApiError WEBHOOK_URL_REFUSED, with the reason; TOO_MANY_CONCURRENT_REQUESTS where the
 * organization has its share of saves under way (decisions, 1.7).
 */
export async function refuseBadAddress(
  { guard, saves }: Pick<WebhookNeeds, "guard" | "saves">,
  organizationId: string,
  url: string,
): Promise<void> {
  const release = saves.take(organizationId);
  if (release === null) {
    throw new ApiError("TOO_MANY_CONCURRENT_REQUESTS", { headers: { [HEADERS.retryAfter]: RETRY_AFTER_SECONDS } });
  }
  const reason = await guard.refusal(url).finally(release);
  if (reason === null) return;
  throw new ApiError("WEBHOOK_URL_REFUSED", {
    text: `The address cannot be used: ${reason}`,
    issues: [{ path: ["url"], code: "url_refused", message: reason }],
  });
}
