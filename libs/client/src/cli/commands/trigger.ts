import { Argument, type Command } from "commander";

import { delay } from "../../delay.ts";
import type { FeedEvent } from "../../generated/api.ts";
import type { Account } from "../../live/events.ts";
import type { GlobalOptions } from "../connection.ts";
import { openSession, type Session, withGlobalOptions } from "../context.ts";
import { Failure, UsageError } from "../exit.ts";
import type { Surroundings } from "../surroundings.ts";
import { CAUSES } from "./causes.ts";

/** How long the event is waited for in the feed, in milliseconds. */
const FEED_WAIT_MS = 15_000;
const FEED_POLL_MS = 250;
const KIND_WIDTH = 24;
const TEST_KIND = "webhook.test";

interface TriggerOptions extends GlobalOptions {
  readonly account?: string;
  readonly endpoint?: string;
}

/** Adds `kapi trigger <kind>` to the program. */
export function addTrigger(program: Command, surroundings: Surroundings): void {
  withGlobalOptions(
    program.command("trigger").description("Make an event happen on a demo server, and show it in the feed"),
  )
    .addArgument(new Argument("<kind>", "kind of event").choices([...Object.keys(CAUSES), TEST_KIND]))
    .option("--account <number>", "on this account (default: a new one)")
    .option("--endpoint <id>", "the endpoint that gets webhook.test")
    .addHelpText(
      "after",
      "\nTrades need the control API of the simulated server: set KAPI_CONTROL_URL, and KAPI_CONTROL_TOKEN if the control API needs a token.\n\nExample:\n  kapi trigger position.closed --account 10000001",
    )
    .action(async (kind: string, options: TriggerOptions) =>
      trigger(await openSession(surroundings, options), kind, options),
    );
}

async function trigger(session: Session, kind: string, options: TriggerOptions): Promise<void> {
  const cause = CAUSES[kind];
  if (cause === undefined) return sendTest(session, options);
  const server = await session.server().configuration();
  // The command moves money and disables accounts.
  if (server.environment !== "demo") throw new UsageError(`${server.serverName} is not a demo server.`);
  const leverage = server.defaultLeverage ?? server.supportedLeverage[0] ?? 1;
  const { next } = await session.kapi.events.page({ after: "now" });
  const accountNumber = await cause({ session, leverage, accountNumber: options.account });
  return showEvents(session, kind, { serverId: session.server().id, accountNumber }, next);
}

async function sendTest({ kapi, output }: Session, { endpoint }: TriggerOptions): Promise<void> {
  if (endpoint === undefined) throw new UsageError("webhook.test needs --endpoint: kapi webhooks list shows the ids.");
  const eventId = await kapi.webhooks.test(endpoint);
  output.line({ type: "webhook.test", id: eventId }, `webhook.test  ${eventId}`);
}

/** Shows the events of the account, up to the wanted one. @throws Failure if it does not come. */
async function showEvents(
  { kapi, output, surroundings: { signal } }: Session,
  kind: string,
  { serverId, accountNumber }: Account,
  start: string,
): Promise<void> {
  const deadlineMs = performance.now() + FEED_WAIT_MS;
  for (let after = start; performance.now() < deadlineMs;) {
    const page = await kapi.events.page({ after });
    after = page.next;
    for (const event of page.events) {
      // Accounts of other servers may have the same number.
      if (event.data.accountNumber !== accountNumber || event.data.serverId !== serverId) continue;
      output.line(event, textOf(event));
      if (event.type === kind) return;
    }
    if (page.events.length === 0) await delay(FEED_POLL_MS, signal);
  }
  throw new Failure(`${kind} did not come within ${FEED_WAIT_MS / 1_000} s.`);
}

function textOf({ timestamp, type, data, id }: FeedEvent): string {
  return `${timestamp}  ${type.padEnd(KIND_WIDTH)}  ${data.accountNumber ?? "-"}  ${id}`;
}
