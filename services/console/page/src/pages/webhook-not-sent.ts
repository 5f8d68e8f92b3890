import type { EventDeliveriesAnswer, WebhookEndpoint } from "../api/shapes.ts";

/** Why an endpoint has no delivery of an event. */
export function whyNotSent(
  { type, serverId, createdAt }: Pick<EventDeliveriesAnswer["event"], "type" | "serverId" | "createdAt">,
  endpoint: Pick<WebhookEndpoint, "kinds" | "serverIds" | "createdAt" | "status">,
): string {
  if (endpoint.createdAt > createdAt) return "it was added after the event.";
  if (type === "webhook.test") return "a test event goes to one endpoint only.";
  const isSubscribed = endpoint.kinds === null ? !type.startsWith("command.") : endpoint.kinds.includes(type);
  if (!isSubscribed) return `it does not subscribe to ${type}.`;
  if (serverId !== null && endpoint.serverIds !== null && !endpoint.serverIds.includes(serverId)) {
    return "it does not subscribe to this server.";
  }
  if (endpoint.status === "disabled") return "it is disabled. Enable it, then replay the missed events.";
  return "it was disabled or had other settings at that time. Replay the missed events to send this one.";
}
