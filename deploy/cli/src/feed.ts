/**
 * The feed of an organization's events, followed from one place on: nothing left out, nothing
 * twice.
 */
import { EventsAnswer, FEED_NOW, FeedEvent, OPERATIONS, pathOf, type WebhookKind } from "@kapi/contracts";
import { z } from "zod";

import { CommandFailure, EXIT_CODES, reasonOf, failureOf } from "./failure.ts";

const REQUEST_TIMEOUT_MS = 10_000;
/** Events of one page. */
const PAGE_EVENTS = 100;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERRORS_FROM = 500;

/**
 * An event of any release: of a kind that this release may not know, with the fields of `data` in
 * their order.
 */
const ListenedEvent = FeedEvent.extend({ type: z.string(), data: z.record(z.string(), z.unknown()) });
export type ListenedEvent = z.infer<typeof ListenedEvent>;
const FeedPage = EventsAnswer.extend({ events: z.array(ListenedEvent) });
export type FeedPage = z.infer<typeof FeedPage>;

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
 * One page behind the cursor `after`; null: no event yet, and `next` is this moment. Throws
 * {@link FeedAway} where it can be asked again, CommandFailure where the API refuses.
 */
export async function readFeed(options: FeedOptions, after: string | null, signal: AbortSignal): Promise<FeedPage> {
  const { api, managementKey, kinds } = options;
  const query = { after: after ?? FEED_NOW, limit: PAGE_EVENTS, kinds: kinds?.join(",") };
  let response: Response;
  let text: string;
  try {
    response = await fetch(api + pathOf(OPERATIONS.listEvents, { query }), {
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
  if (!response.ok) throw failureOf("The API", status, text);
  const page = FeedPage.safeParse(jsonOf(text));
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
