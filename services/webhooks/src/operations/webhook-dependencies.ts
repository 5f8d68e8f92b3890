import { HEADERS } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { Clock, Keyring, OrganizationSlots } from "@kapi/kernel";

import type { Endpoint } from "../domain/endpoint.ts";
import type {
  AddressGuard,
  DeliveryStore,
  EndpointName,
  EndpointStore,
  EventDeliveries,
  EventStore,
} from "../domain/ports.ts";
import type { IncomingEvent } from "../domain/events.ts";

export type { EndpointName };

/** Retry-After, in seconds, if an organization saves too many endpoints at the same time. */
const RETRY_AFTER_SECONDS = "1";

/** Dependencies of the operations behind the internal routes. */
export interface WebhookDependencies {
  readonly endpoints: EndpointStore;
  readonly events: EventStore;
  readonly deliveries: DeliveryStore;
  readonly eventDeliveries: EventDeliveries;
  readonly guard: AddressGuard;
  /** Limits concurrent saves of endpoints. Each save may wait for a name server. */
  readonly saves: OrganizationSlots;
  readonly keys: Keyring;
  readonly recordEvents: (events: readonly IncomingEvent[]) => Promise<void>;
  /** Called when an endpoint was changed or deleted, so that its cached copy is dropped. */
  readonly onChanged: (endpointId: string) => void;
  /** Called when the endpoint is disabled or deleted. */
  readonly onDeactivated: (endpointId: string) => void;
  /** Called when the endpoint has due deliveries. */
  readonly onDue: (endpoint: EndpointName) => void;
  readonly clock: Clock;
}

/**
 * Returns the endpoint. @throws ApiError ENDPOINT_NOT_FOUND for null: the organization has no such
 * endpoint.
 */
export function requireEndpoint<T>(endpoint: T | null): T {
  if (endpoint === null) throw new ApiError("ENDPOINT_NOT_FOUND");
  return endpoint;
}

/** Reads an endpoint that is enabled. @throws ApiError ENDPOINT_NOT_FOUND, ENDPOINT_DISABLED. */
export async function enabledEndpoint(
  { endpoints }: Pick<WebhookDependencies, "endpoints">,
  { organizationId, endpointId }: EndpointName,
): Promise<Endpoint> {
  const endpoint = requireEndpoint(await endpoints.get(organizationId, endpointId));
  if (endpoint.status !== "enabled") throw new ApiError("ENDPOINT_DISABLED");
  return endpoint;
}

/**
 * Checks the URL of an endpoint that is saved.
 * @throws ApiError WEBHOOK_URL_REFUSED with the reason; TOO_MANY_CONCURRENT_REQUESTS if the
 * organization's share of concurrent saves is used up (decisions, 1.7).
 */
export async function assertAllowedAddress(
  { guard, saves }: Pick<WebhookDependencies, "guard" | "saves">,
  organizationId: string,
  url: string,
): Promise<void> {
  const release = saves.take(organizationId);
  if (release === null) {
    throw new ApiError("TOO_MANY_CONCURRENT_REQUESTS", { headers: { [HEADERS.retryAfter]: RETRY_AFTER_SECONDS } });
  }
  const reason = await guard.rejection(url).finally(release);
  if (reason === null) return;
  throw new ApiError("WEBHOOK_URL_REFUSED", {
    text: `The address cannot be used: ${reason}`,
    issues: [{ path: ["url"], code: "url_refused", message: reason }],
  });
}
