import { DEFAULT_WEBHOOK_KINDS, MAX_REPLAY_EVENTS, type ReplayWebhookBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Replay } from "../domain/ports.ts";
import { enabledEndpoint, type EndpointName, type WebhookNeeds } from "./webhook-needs.ts";

/** Events of one step. */
const STEP_EVENTS = 2_000;

/**
 * Sends the events that were recorded from `since` to before `until` again, with the same ids; also
 * those that never were sent to this endpoint. Without `kinds` those that it takes.
 */
export async function replayWebhook(
  needs: WebhookNeeds,
  name: EndpointName,
  { since, until, kinds }: ReplayWebhookBody,
): Promise<{ events: number }> {
  const { events, clock, onDue } = needs;
  const endpoint = await enabledEndpoint(needs, name);
  const nowMs = clock.nowMs();
  const replay: Replay = {
    endpoint,
    kinds: kinds ?? endpoint.kinds ?? DEFAULT_WEBHOOK_KINDS,
    sinceMs: Date.parse(since),
    untilMs: until === undefined ? nowMs + 1 : Date.parse(until),
  };
  const count = await events.countForReplay(replay, MAX_REPLAY_EVENTS + 1);
  if (count > MAX_REPLAY_EVENTS) throw new ApiError("TOO_MANY_EVENTS");
  let after: number | null = 0;
  while (after !== null) after = await events.replay(replay, after, STEP_EVENTS, nowMs);
  onDue(name);
  return { events: count };
}
