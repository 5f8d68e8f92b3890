/** The feed of an organization's events, followed from one place on: nothing left out, nothing twice. */
import { FEED_NOW, type WebhookKind } from "@kapi/contracts";
import { z } from "zod";

import { CommandFailure, EXIT_CODES, reasonOf, refusalOf } from "./failure.ts";

const REQUEST_TIMEOUT_MS = 10_000;
/** Events of one page. */
const PAGE_EVENTS = 100;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERRORS_FROM = 500;

const Page = z.object({
  events: z.array(
    z.object({
      id: z.string(),
      cursor: z.string(),
      type: z.string(),
      timestamp: z.string(),
      /** As it is: its order of fields is that of the delivery. */
      data: z.record(z.string(), z.unknown()),
    }),
  ),
  next: z.string(),
});
export type FeedPage = z.infer<typeof Page>;
export type ListenedEvent = FeedPage["events"][number];

/** Where the API is, what opens it, and what is wanted of the feed. */
export interface FeedOptions {
  /** Base address of the API. */
  readonly api: string;
  readonly managementKey: string;
  /** All but those of commands where none are named. */
  readonly kinds: readonly WebhookKind[] | null;
}

/** The feed cannot be read just now; asked again from the same cursor it goes on. */
export class FeedAway extends Error {}

/**
 * One page behind the cursor `after`; null: no event yet, and `next` is this moment. Throws {@link FeedAway} where it can be
 * asked again, CommandFailure where the API refuses.
 */
export async function readFeed(options: FeedOptions, after: string | null, signal: AbortSignal): Promise<FeedPage> {
  const { api, managementKey, kinds } = options;
  const query = new URLSearchParams({ after: after ?? FEED_NOW, limit: String(PAGE_EVENTS) });
  if (kinds !== null) query.set("kinds", kinds.join(","));
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${api}/api/v1/management/events?${query.toString()}`, {
      headers: { authorization: `Management ${managementKey}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    });
    text = await response.text();
  } catch (error) {
    signal.throwIfAborted();
    throw new FeedAway(`The API cannot be reached at ${api}: ${reasonOf(error)}`);
  }
  const { status } = response;
  if (status >= SERVER_ERRORS_FROM || status === TOO_MANY_REQUESTS) throw new FeedAway(`The API answered ${status}`);
  if (!response.ok) throw refusalOf("The API", status, text);
  const page = Page.safeParse(jsonOf(text));
  if (page.success) return page.data;
  throw new CommandFailure(`What answers at ${api} is no feed of events.`, EXIT_CODES.refused);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
