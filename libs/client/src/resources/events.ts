import type { FeedEvent, WebhookKind } from "../generated/api.ts";
import { pathOf, type Transport } from "../http/transport.ts";

/** Events per request of the feed. */
const EVENTS_PER_CALL = 500;

/** Which events of the feed to read, and from where on. */
export interface EventsOptions {
  /**
   * The `cursor` of the last event that was handled, or `"now"` for events that are recorded from
   * now on. Without it, reading begins with the oldest event that is kept.
   */
  readonly after?: string | undefined;
  /** Events of other kinds are left out. Default: all kinds except those of commands. */
  readonly kinds?: readonly WebhookKind[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * One page of the feed. If `next` equals `after`, there are no newer events yet. A page without
 * events can have another `next`: then all events that the page covers are of other kinds.
 */
export interface EventPage {
  /** Oldest first. */
  readonly events: readonly FeedEvent[];
  /** Pass it as `after` to continue. */
  readonly next: string;
}

/** Where a program stores the cursor up to which it has handled the feed. */
export interface CursorStore {
  /** Returns the stored cursor, or null if none is stored. */
  load(): Promise<string | null>;
  save(cursor: string): Promise<void>;
}

/** The feed of events: `kapi.events`. */
export class EventsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Reads one page of the feed. */
  async page({ after, kinds, signal }: EventsOptions = {}, limit = EVENTS_PER_CALL): Promise<EventPage> {
    const { body } = await this.#transport.request<EventPage>({
      method: "GET",
      path: pathOf("events"),
      query: { after, limit, kinds },
      ...(signal === undefined ? {} : { signal }),
    });
    return body;
  }

  /** The events after a cursor, oldest first, up to the newest. */
  async *list(options: EventsOptions = {}): AsyncGenerator<FeedEvent, void, undefined> {
    for await (const { events } of this.#pages(options)) yield* events;
  }

  /** The pages after a cursor. A page is empty if all events that it covers are of other kinds. */
  async *#pages(options: EventsOptions): AsyncGenerator<EventPage, void, undefined> {
    let { after } = options;
    for (;;) {
      const page: EventPage = await this.page({ ...options, ...(after === undefined ? {} : { after }) });
      yield page;
      if (page.next === after) return;
      after = page.next;
    }
  }

  /**
   * Handles every event of `kinds` after the stored cursor, oldest first, and returns the number of
   * events. These include events that your webhook receiver did not get. The cursor is saved after
   * each event that `handler` has handled, and the next call continues after the saved cursor. An
   * event can arrive here and by webhook, and here again if the cursor was not saved: drop repeats
   * by `event.id`.
   */
  async catchUp(
    { cursorStore, kinds, signal }: Omit<EventsOptions, "after"> & { readonly cursorStore: CursorStore },
    handler: (event: FeedEvent) => Promise<void> | void,
  ): Promise<number> {
    const after = await cursorStore.load();
    let count = 0;
    const options = { ...(kinds && { kinds }), ...(signal && { signal }), ...(after !== null && { after }) };
    let saved = after;
    for await (const { events, next } of this.#pages(options)) {
      for (const event of events) {
        await handler(event);
        await cursorStore.save(event.cursor);
        saved = event.cursor;
        count += 1;
      }
      // Events of other kinds are not read again by the next call.
      if (next !== saved) await cursorStore.save(next);
      saved = next;
    }
    return count;
  }
}
