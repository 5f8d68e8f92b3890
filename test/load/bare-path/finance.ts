/** Executes deposits: Kafka → inbox → trading server → ledger and inbox → Kafka, in batches. */
import { TOPICS } from "@kapi/contracts";
import { Pool } from "undici";

import { bareProcess, fatal, ORGANIZATION_ID, parsed, SEPARATOR, SERVER_ID } from "./bare-process.ts";
import type { BareBalanceEvent, BareChange, BareCommand, BareFinalEvent } from "./messages.ts";

const COMMANDS_BUSY_INTERVAL_MS = 10;
const EVENTS_MIN_INTERVAL_MS = 200;
const MAX_BATCH_COMMANDS = 200;
const TRADING_SERVER_CONNECTIONS = 4;
const ENTRIES = '[{"ledger":"account","amountMinor":1},{"ledger":"deposits","amountMinor":-1}]';
const TAKE_IN = `insert into bare.inbox (partition, command_id, log_offset, server_id, status, message)
  select $1, c, o, $2::uuid, 'queued', m from unnest($3::uuid[], $4::bigint[], string_to_array($5, E'\\x1f')) as given (c, o, m)
  on conflict do nothing`;
const BOOK = `with accounts as (
    insert into bare.ledger_accounts
    select $1::uuid, a, b, s from unnest($2::text[], $3::bigint[], $4::bigint[]) as given (a, b, s)
    on conflict (server_id, account_number)
    do update set balance_minor = excluded.balance_minor, last_sequence = excluded.last_sequence
  ), transactions as (
    insert into bare.transactions
    select i, $1::uuid, a, s, s, 'deposit', c, 1, b - 1, b, now(), '${ENTRIES}'
    from unnest($5::uuid[], $6::text[], $7::bigint[], $8::uuid[], $9::bigint[]) as given (i, a, s, c, b)
  )
  update bare.inbox set status = 'succeeded', completed_at = now(), result = r
  from unnest($8::uuid[], string_to_array($10, E'\\x1f')) as given (c, r) where command_id = c`;

const { query, consume, publish, hello } = await bareProcess("finance");
const tradingServer = new Pool(process.env["TRADING_SERVER_URL"] ?? "", { connections: TRADING_SERVER_CONNECTIONS });
const waiting: BareCommand[] = [];
let running = false;

async function applyChanges(commands: readonly BareCommand[]): Promise<BareBalanceEvent[]> {
  const changes: BareChange[] = commands.map(({ id, accountNumber, payload }) => ({
    accountNumber,
    amountMinor: payload.amountMinor,
    reference: id,
  }));
  const headers = { "content-type": "application/json" };
  const { body } = await tradingServer.request({
    method: "POST",
    path: "/changes",
    headers,
    body: JSON.stringify({ changes }),
  });
  return ((await body.json()) as { events: BareBalanceEvent[] }).events;
}

function finalEventOf(command: BareCommand, event: BareBalanceEvent): BareFinalEvent {
  return {
    commandId: command.id,
    version: 2,
    status: "succeeded",
    attempts: 1,
    organizationId: ORGANIZATION_ID,
    serverId: SERVER_ID,
    accountNumber: command.accountNumber,
    operation: command.operation,
    at: event.at,
    result: { transactionId: event.id, amountMinor: event.amountMinor, balanceAfterMinor: event.balanceAfterMinor },
    error: null,
    credits: { chargeId: command.id, action: "consume", credits: 1 },
  };
}

async function book(finalEvents: readonly BareFinalEvent[], events: readonly BareBalanceEvent[]): Promise<void> {
  const newest = [...new Map(events.map((event) => [event.accountNumber, event])).values()];
  await query("book", BOOK, [
    SERVER_ID,
    newest.map(({ accountNumber }) => accountNumber),
    newest.map(({ balanceAfterMinor }) => balanceAfterMinor),
    newest.map(({ sequence }) => sequence),
    events.map(({ id }) => id),
    events.map(({ accountNumber }) => accountNumber),
    events.map(({ sequence }) => sequence),
    finalEvents.map(({ commandId }) => commandId),
    events.map(({ balanceAfterMinor }) => balanceAfterMinor),
    finalEvents.map(({ result }) => JSON.stringify(result)).join(SEPARATOR),
  ]);
}

async function run(): Promise<void> {
  running = true;
  while (waiting.length > 0) {
    const commands = waiting.splice(0, MAX_BATCH_COMMANDS);
    const events = await applyChanges(commands);
    const finalEvents = commands.map((command, index) => finalEventOf(command, events[index] as BareBalanceEvent));
    await book(finalEvents, events);
    for (const event of finalEvents) publish(TOPICS.commandEvents, event.commandId, JSON.stringify(event));
    for (const event of events) publish(TOPICS.financeEvents, event.accountNumber, JSON.stringify(event));
  }
  running = false;
}

await consume(TOPICS.commandsFinance, { busyIntervalMs: COMMANDS_BUSY_INTERVAL_MS }, async (messages, partition) => {
  const commands = parsed<BareCommand>(messages);
  await query("take in", TAKE_IN, [
    partition,
    SERVER_ID,
    commands.map(({ id }) => id),
    messages.map(({ offset }) => String(offset)),
    messages.map(({ value }) => value.toString("utf8")).join(SEPARATOR),
  ]);
  waiting.push(...commands);
  if (!running) run().catch(fatal);
});
// The events were already booked from the answers, so they are only parsed here.
await consume(
  TOPICS.tradingEvents,
  { minIntervalMs: EVENTS_MIN_INTERVAL_MS },
  async (messages) => void parsed<BareBalanceEvent>(messages),
);
hello({ ready: true });
