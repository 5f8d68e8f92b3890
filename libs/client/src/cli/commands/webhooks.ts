import type { Command } from "commander";

import type { FeedEvent, WebhookDelivery, WebhookEndpoint, WebhookKind } from "../../generated/api.ts";
import { delay } from "../../delay.ts";
import type { GlobalOptions } from "../connection.ts";
import {
  address,
  addList,
  type ListOptions,
  openSession,
  showList,
  time,
  untilStopped,
  wholeNumber,
  withGlobalOptions,
} from "../context.ts";
import type { Column } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

const POLL_MS = 1_000;
const DEFAULT_EVENTS = 20;

/** What an endpoint without `kinds` gets. */
const ALL_KINDS = "all but command.*";

const ENDPOINT_COLUMNS: readonly Column<WebhookEndpoint>[] = [
  { heading: "ID", of: ({ id }) => id },
  { heading: "STATUS", of: ({ status }) => status },
  { heading: "URL", of: ({ url }) => url },
  { heading: "KINDS", of: ({ kinds }) => kinds?.join(",") ?? ALL_KINDS },
  { heading: "FAILING SINCE", of: ({ failingSince }) => failingSince },
];
const DELIVERY_COLUMNS: readonly Column<WebhookDelivery>[] = [
  { heading: "CREATED", of: ({ createdAt }) => createdAt },
  { heading: "TYPE", of: ({ type }) => type },
  { heading: "STATUS", of: ({ status }) => status },
  { heading: "ATTEMPTS", of: ({ attempts }) => attempts.at(-1)?.number ?? 0, alignRight: true },
  { heading: "ID", of: ({ id }) => id },
  { heading: "LAST RESULT", of: ({ attempts }) => attempts.at(-1)?.status ?? attempts.at(-1)?.error },
  { heading: "EVENT", of: ({ eventId }) => eventId },
];
const EVENT_COLUMNS: readonly Column<FeedEvent>[] = [
  { heading: "AT", of: ({ timestamp }) => timestamp },
  { heading: "TYPE", of: ({ type }) => type },
  { heading: "ACCOUNT", of: ({ data }) => data.accountNumber },
  { heading: "#", of: ({ data }) => data.accountSequence, alignRight: true },
  { heading: "ID", of: ({ id }) => id },
];

interface EndpointOptions extends GlobalOptions {
  readonly url?: string;
  readonly description?: string;
  readonly kinds?: WebhookKind[];
}

/** Adds `kapi webhooks …` and `kapi events …` to the program. */
export function addWebhooks(program: Command, surroundings: Surroundings): void {
  const webhooks = program.command("webhooks").description("Endpoints that events are sent to");
  withGlobalOptions(webhooks.command("list").description("List the endpoints")).action(
    async (options: GlobalOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      output.rows(await kapi.webhooks.list(), ENDPOINT_COLUMNS);
    },
  );
  withGlobalOptions(webhooks.command("get <endpoint>").description("Show an endpoint")).action(
    async (id: string, options: GlobalOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      const { kinds: wanted, serverIds, ...fields } = await kapi.webhooks.get(id);
      const texts = { kinds: wanted?.join(", ") ?? ALL_KINDS, servers: serverIds?.join(", ") ?? "all" };
      output.print({ ...fields, kinds: wanted, serverIds }, () => output.fields({ ...fields, ...texts }));
    },
  );
  withGlobalOptions(webhooks.command("create").description("Add an endpoint; its secret is shown once"))
    .requiredOption("--url <url>", "where events are sent", address)
    .option("--description <text>")
    .option("--kinds <kinds>", "only these kinds, separated by commas (default: all except those of commands)", kinds)
    .action(async ({ url = "", description = "", kinds: wanted, ...options }: EndpointOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      const created = await kapi.webhooks.create({ url, description, kinds: wanted ?? null, serverIds: null });
      output.print(created, () => output.fields({ id: created.endpoint.id, url, secret: created.secret }));
    });
  withGlobalOptions(webhooks.command("update <endpoint>").description("Change, enable or disable an endpoint"))
    .option("--url <url>", "where events are sent", address)
    .option("--kinds <kinds>", "only these kinds, separated by commas", kinds)
    .option("--status <status>", "enabled or disabled")
    .action(async (id: string, options: EndpointOptions & { status?: "enabled" | "disabled" }) => {
      const { kapi, output } = await openSession(surroundings, options);
      const { url, kinds: wanted, status } = options;
      const changed = await kapi.webhooks.update(id, {
        ...(url === undefined ? {} : { url }),
        ...(wanted === undefined ? {} : { kinds: wanted }),
        ...(status === undefined ? {} : { status }),
      });
      output.rows([changed], ENDPOINT_COLUMNS);
    });
  withGlobalOptions(webhooks.command("delete <endpoint>").description("Delete an endpoint")).action(
    async (id: string, options: GlobalOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      await kapi.webhooks.delete(id);
      output.print({ id, deleted: true }, () => "Deleted.\n");
    },
  );
  withGlobalOptions(
    webhooks.command("rotate-secret <endpoint>").description("Give an endpoint a new secret, shown once"),
  ).action(async (id: string, options: GlobalOptions) => {
    const { kapi, output } = await openSession(surroundings, options);
    const rotated = await kapi.webhooks.rotateSecret(id);
    output.print(rotated, () => output.fields({ id, secret: rotated.secret }));
  });
  withGlobalOptions(webhooks.command("test <endpoint>").description("Send a test event to an endpoint")).action(
    async (id: string, options: GlobalOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      const eventId = await kapi.webhooks.test(id);
      output.print({ eventId }, () => output.fields({ eventId }));
    },
  );
  withGlobalOptions(webhooks.command("replay <endpoint>").description("Send the events of a period again"))
    .requiredOption("--since <time>", "events at or after this time, or a duration such as 2h", time)
    .option("--until <time>", "events before this time", time)
    .action(async (id: string, { since, until, ...options }: GlobalOptions & { since: Date; until?: Date }) => {
      const { kapi, output } = await openSession(surroundings, options);
      const events = await kapi.webhooks.replay(id, { since, until });
      output.print({ events }, () => `${events} ${events === 1 ? "event is" : "events are"} sent again.\n`);
    });
  addList(webhooks, "deliveries <endpoint>", "What was sent to an endpoint and what came back, newest first")
    .option("--status <status>", "only deliveries in this state")
    .option("--event <id>", "only deliveries of this event")
    .action(async (id: string, options: ListOptions & { status?: WebhookDelivery["status"]; event?: string }) => {
      const session = await openSession(surroundings, options);
      const { status, event: eventId } = options;
      await showList(session, options, session.kapi.webhooks.deliveries(id, { status, eventId }), DELIVERY_COLUMNS);
    });
  withGlobalOptions(webhooks.command("redeliver <endpoint> <delivery>").description("Send one delivery again")).action(
    async (id: string, delivery: string, options: GlobalOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      output.rows([await kapi.webhooks.redeliver(id, delivery)], DELIVERY_COLUMNS);
    },
  );
  addEvents(program, surroundings);
}

interface EventOptions extends GlobalOptions {
  readonly after?: string;
  readonly kinds?: WebhookKind[];
}

function addEvents(program: Command, surroundings: Surroundings): void {
  const events = program.command("events").description("The feed of all events that webhooks send");
  withGlobalOptions(events.command("list").description("Events after a cursor, oldest first"))
    .option("--after <cursor>", "begin after this cursor (default: with the oldest event that is kept)")
    .option("--kinds <kinds>", "only these kinds, separated by commas (default: all except those of commands)", kinds)
    .option("--limit <n>", "maximum number of events, at most 1000", wholeNumber(1), DEFAULT_EVENTS)
    .action(async ({ after, kinds: wanted, limit, ...options }: EventOptions & { limit: number }) => {
      const { kapi, output } = await openSession(surroundings, options);
      const page = await kapi.events.page({ after, kinds: wanted }, limit);
      output.rows(page.events, EVENT_COLUMNS);
      if (!output.isJson) output.note(`next: --after ${page.next}`);
    });
  withGlobalOptions(events.command("tail").description("Show events as they happen"))
    .option("--after <cursor>", "begin after this cursor (default: now)", "now")
    .option("--kinds <kinds>", "only these kinds, separated by commas (default: all except those of commands)", kinds)
    .action(async ({ after = "now", kinds: wanted, ...options }: EventOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      await untilStopped(surroundings, async () => {
        for (let cursor = after; ;) {
          const page = await kapi.events.page({ after: cursor, kinds: wanted });
          for (const event of page.events) {
            const { timestamp, type, data } = event;
            output.line(event, `${timestamp}  ${type.padEnd(24)}  ${data.accountNumber ?? "-"}`);
          }
          cursor = page.next;
          if (page.events.length === 0) await delay(POLL_MS, surroundings.signal);
        }
      });
    });
}

/** Parses kinds of events, separated by commas; kapi checks them. */
export function kinds(text: string): WebhookKind[] {
  return text.split(",").map((kind) => kind.trim()) as WebhookKind[];
}
