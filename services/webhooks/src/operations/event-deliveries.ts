import type { AccountDeliveriesAnswer, EventDeliveriesAnswer, ListAccountDeliveriesQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { isUuid } from "@kapi/kernel";

import type { OwnedAccount } from "../domain/ports.ts";
import type { WebhookDependencies } from "./webhook-dependencies.ts";

type Dependencies = Pick<WebhookDependencies, "clock" | "endpoints" | "eventDeliveries">;

/** An event with its payload and its deliveries. Throws 404 for an unknown and a malformed id. */
export async function getEvent(
  { clock, endpoints, eventDeliveries }: Dependencies,
  organizationId: string,
  eventId: string,
): Promise<EventDeliveriesAnswer> {
  const event = isUuid(eventId)
    ? await eventDeliveries.event(organizationId, eventId, await endpoints.list(organizationId), clock.nowMs())
    : null;
  if (event === null) throw new ApiError("NOT_FOUND", { text: "Event not found. Events are kept for 30 days" });
  return { event };
}

/** A page of the events of an account, with their deliveries. */
export async function listAccountDeliveries(
  { clock, endpoints, eventDeliveries }: Dependencies,
  account: OwnedAccount,
  query: ListAccountDeliveriesQuery,
): Promise<AccountDeliveriesAnswer> {
  return eventDeliveries.ofAccount(account, query, await endpoints.list(account.organizationId), clock.nowMs());
}
