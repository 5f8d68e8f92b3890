import { randomUUID } from "node:crypto";

import { Argument, type Command } from "commander";

import { delay } from "../../delay.ts";
import type { FeedEvent } from "../../generated/api.ts";
import type { GlobalOptions } from "../connection.ts";
import { openSession, type Session, withGlobalOptions } from "../context.ts";
import { UsageError } from "../exit.ts";
import type { Surroundings } from "../surroundings.ts";

const CONTROL_TIMEOUT_MS = 10_000;
/** How long the events are waited for in the feed, in milliseconds. */
const MAX_FEED_WAIT_MS = 15_000;
const FEED_POLL_MS = 250;
const SYMBOL = "EURUSD";
const LOTS = 0.01;

interface TriggerOptions extends GlobalOptions {
  readonly account?: string;
}

/** What makes an event really happen. */
type Cause = (session: Session, accountNumber: string) => Promise<unknown>;

const CAUSES: Readonly<Record<string, Cause>> = {
  "order.executed": openPosition,
  "position.opened": openPosition,
  "deal.executed": openPosition,
  "position.closed": async (session, accountNumber) => {
    const positionId = await openPosition(session, accountNumber);
    await control(session, accountNumber, `positions/${positionId}/close`, {});
  },
  "transaction.recorded": (session, accountNumber) =>
    run(session.server().account(accountNumber).deposit({ amount: "1.00", description: "kapi trigger" }, newKey())),
  "account.disabled": (session, accountNumber) => run(session.server().account(accountNumber).disable(newKey())),
  "account.enabled": async (session, accountNumber) => {
    const account = session.server().account(accountNumber);
    await run(account.disable(newKey()));
    await run(account.enable(newKey()));
  },
  "account.updated": (session, accountNumber) =>
    run(
      session
        .server()
        .account(accountNumber)
        .update({ accountName: `Triggered ${new Date().toISOString()}` }, newKey()),
    ),
  "account.created": (session) =>
    run(
      session
        .server()
        .accounts.create({ accountName: "kapi trigger", initialBalance: "1000", leverage: 100 }, newKey()),
    ),
};

const newKey = (): { readonly key: string } => ({ key: `trigger-${randomUUID()}` });

/** `kapi trigger <kind>` */
export function addTrigger(program: Command, surroundings: Surroundings): void {
  withGlobalOptions(
    program.command("trigger").description("Make an event happen on a simulated server, and show it in the feed"),
  )
    .addArgument(new Argument("<kind>", "kind of event").choices(Object.keys(CAUSES)))
    .option("--account <number>", "on this account (default: a new one)")
    .action(async (kind: string, options: TriggerOptions) =>
      trigger(await openSession(surroundings, options), kind, options),
    );
}

async function trigger(session: Session, kind: string, options: TriggerOptions): Promise<void> {
  const { kapi, output } = session;
  const start = (await kapi.events.page({ after: "now" })).next;
  const accountNumber = options.account ?? (kind === "account.created" ? "" : await newAccount(session));
  await CAUSES[kind]?.(session, accountNumber);
  const events: FeedEvent[] = [];
  const deadlineMs = performance.now() + MAX_FEED_WAIT_MS;
  for (let after = start; performance.now() < deadlineMs && !events.some(({ type }) => type === kind);) {
    const page = await kapi.events.page({ after });
    after = page.next;
    for (const event of page.events) {
      if (accountNumber !== "" && event.data.accountNumber !== accountNumber) continue;
      events.push(event);
      output.line(
        event,
        `${event.timestamp}  ${event.type.padEnd(24)}  ${event.data.accountNumber ?? "-"}  ${event.id}`,
      );
    }
    if (page.events.length === 0) await delay(FEED_POLL_MS);
  }
  if (!events.some(({ type }) => type === kind))
    throw new UsageError(`${kind} did not come within ${MAX_FEED_WAIT_MS / 1_000} s.`);
}

async function newAccount(session: Session): Promise<string> {
  const account = { accountName: "kapi trigger", initialBalance: "1000", leverage: 100 };
  const { accountNumber } = await (await session.server().accounts.create(account, newKey())).result();
  return accountNumber;
}

async function run(queued: Promise<{ result(): Promise<unknown> }>): Promise<void> {
  await (await queued).result();
}

/** Opens a position by the control API of the simulated server, and returns its id. */
async function openPosition(session: Session, accountNumber: string): Promise<string> {
  const order = { symbol: SYMBOL, side: "buy", volume: LOTS };
  const { positionId } = (await control(session, accountNumber, "orders", order)) as { positionId: string };
  return positionId;
}

/** @throws UsageError if the server has no control API, or refuses. */
async function control(
  { connection, server }: Session,
  accountNumber: string,
  path: string,
  body: object,
): Promise<unknown> {
  const { controlUrl, controlToken } = connection;
  if (controlUrl === undefined) {
    throw new UsageError("Only a simulated server can be told to trade: set KAPI_CONTROL_URL to its control API.");
  }
  const url = `${controlUrl}/control/v1/servers/${server().id}/accounts/${accountNumber}/${path}`;
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(controlToken === undefined ? {} : { "x-internal-token": controlToken }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(CONTROL_TIMEOUT_MS),
    });
  } catch (error) {
    throw new UsageError(`The control API at ${controlUrl} cannot be reached: ${String(error)}`);
  }
  if (!response.ok) throw new UsageError(`The control API answered ${response.status}: ${await response.text()}`);
  return response.json();
}
