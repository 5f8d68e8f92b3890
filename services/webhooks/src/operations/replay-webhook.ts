import { DEFAULT_WEBHOOK_KINDS, MAX_REPLAY_EVENTS, type ReplayWebhookBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Replay } from "../domain/ports.ts";
import { enabledEndpoint, type EndpointName, type WebhookDependencies } from "./webhook-dependencies.ts";

/** Maximum number of events per statement. */
const STEP_EVENTS = 2_000;

/**
 * Sends the events recorded from `since` (inclusive) to `until` (exclusive; by default until now),
 * with the same ids, whether or not they were sent to this endpoint before. Pending and running
 * deliveries are unchanged. Without `kinds`, the subscribed kinds are sent. Events of servers that
 * the endpoint does not subscribe to, and tests, are not sent.
 */
export async function replayWebhook(
  dependencies: Pick<WebhookDependencies, "endpoints" | "events" | "clock" | "onDue">,
  name: EndpointName,
  { since, until, kinds }: ReplayWebhookBody,
): Promise<{ events: number }> {
  const { events, clock, onDue } = dependencies;
  const endpoint = await enabledEndpoint(dependencies, name);
  const nowMs = clock.nowMs();
  const replay: Replay = {
    endpoint,
    kinds: kinds ?? endpoint.kinds ?? DEFAULT_WEBHOOK_KINDS,
    sinceMs: Date.parse(since),
    untilMs: until === undefined ? null : Date.parse(until),
    // A position, not the time: the clock of another process that records events may be ahead.
    // `settledPosition` waits for running recordings. A recording that began before the endpoint
    // was enabled starts no delivery to the endpoint, so the replay must include its events.
    upTo: await events.settledPosition(name.organizationId),
  };
  const count = await events.countForReplay(replay, MAX_REPLAY_EVENTS + 1);
  if (count > MAX_REPLAY_EVENTS) throw new ApiError("TOO_MANY_EVENTS");
  let after: number | null = 0;
  while (after !== null) after = await events.replay(replay, after, STEP_EVENTS, nowMs);
  onDue(name);
  return { events: count };
}
