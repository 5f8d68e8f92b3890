/** Follows the feed of an organization's events from a cursor, without gaps or duplicates. */
import { EventsAnswer, FEED_NOW, FeedEvent, OPERATIONS, pathOf, type WebhookKind } from "@kapi/contracts";
import { z } from "zod";

import { CommandFailure, EXIT_CODES, reasonOf, failureOf } from "./failure.ts";

const REQUEST_TIMEOUT_MS = 10_000;
/** Number of events of a page. */
const PAGE_EVENTS = 100;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERRORS_FROM = 500;

/**
 * An event of any release: its kind may be unknown to this release. The fields of `data` keep their
 * order.
 */
const ListenedEvent = FeedEvent.extend({ type: z.string(), data: z.record(z.string(), z.unknown()) });
export type ListenedEvent = z.infer<typeof ListenedEvent>;
const FeedPage = EventsAnswer.extend({ events: z.array(ListenedEvent) });
export type FeedPage = z.infer<typeof FeedPage>;

/** Address and key of the API, and the kinds to read. */
export interface FeedOptions {
  /** Base address of the API. */
  readonly api: string;
  readonly managementKey: string;
  /** null: all kinds except the kinds of commands. */
  readonly kinds: readonly WebhookKind[] | null;
}

/** The feed is unavailable; retry from the same cursor. */
export class FeedUnavailable extends Error {}

/**
 * Reads one page after the cursor `after`; null: from now on. Throws {@link FeedUnavailable} if the
 * request can be retried, CommandFailure if the API rejects the request.
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
    throw new FeedUnavailable(`The API cannot be reached at ${api}: ${reasonOf(error)}`);
  }
  const { status } = response;
  if (status >= SERVER_ERRORS_FROM || status === TOO_MANY_REQUESTS)
    throw new FeedUnavailable(`The API answered ${status}`);
  if (!response.ok) throw failureOf("The API", status, text);
  const page = FeedPage.safeParse(jsonOf(text));
  if (page.success) return page.data;
  throw new CommandFailure(`The response from ${api} is not an event feed. Check the address.`, EXIT_CODES.refused);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
