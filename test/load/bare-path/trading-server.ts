/**
 * The trading server of the bare path (docs/testing.md). It keeps balances in memory and a journal
 * in PostgreSQL, and publishes each change as an event and as a valuation.
 */
import { TOPICS } from "@kapi/contracts";
import { batcher, uuidV7 } from "@kapi/kernel";
import { fastify } from "fastify";

import { bareProcess, SEPARATOR, SERVER_ID } from "./bare-process.ts";
import type { BareBalanceEvent, BareChange } from "./messages.ts";

const FIRST_BALANCE_MINOR = 100_000;
const MAX_BATCH_CHANGES = 200;
const JOURNAL = `insert into bare.journal (server_id, account_number, sequence, reference, event, outcome)
  select $1::uuid, a, s, r, e, 'applied'
  from unnest($2::text[], $3::bigint[], $4::text[], string_to_array($5, E'\\x1f')) as given (a, s, r, e)`;

const { query, publish, hello } = await bareProcess("trading-server");
const accounts = new Map<string, { sequence: number; balanceMinor: number }>();

const journalled = batcher<BareBalanceEvent, true>({
  load: async (events) => {
    await query("journal", JOURNAL, [
      SERVER_ID,
      events.map(({ accountNumber }) => accountNumber),
      events.map(({ sequence }) => sequence),
      events.map(({ reference }) => reference),
      events.map((event) => JSON.stringify(event)).join(SEPARATOR),
    ]);
    return events.map(() => true);
  },
  maxBatchSize: MAX_BATCH_CHANGES,
  maxConcurrentBatches: 1,
});

function apply({ accountNumber, amountMinor, reference }: BareChange): BareBalanceEvent {
  const account = accounts.get(accountNumber) ?? { sequence: 0, balanceMinor: FIRST_BALANCE_MINOR };
  accounts.set(accountNumber, account);
  const balanceBeforeMinor = account.balanceMinor;
  account.sequence += 1;
  account.balanceMinor += amountMinor;
  return {
    id: uuidV7(Date.now()),
    type: "balance",
    serverId: SERVER_ID,
    accountNumber,
    sequence: account.sequence,
    reference,
    amountMinor,
    balanceBeforeMinor,
    balanceAfterMinor: account.balanceMinor,
    at: new Date().toISOString(),
  };
}

/**
 * A valuation of about 210 bytes; kapi's valuation of an account without positions has about 290.
 */
function valuationOf({ accountNumber, balanceAfterMinor, at }: BareBalanceEvent): string {
  const equity = balanceAfterMinor / 100;
  const values = { balance: equity, equity, margin: 0, freeMargin: equity, marginLevel: null, unrealizedProfit: 0 };
  return JSON.stringify({ serverId: SERVER_ID, accountNumber, at, ...values });
}

const app = fastify();
app.post<{ Body: { changes: BareChange[] } }>("/changes", async ({ body }) => {
  const events = body.changes.map(apply);
  await Promise.all(events.map(journalled));
  for (const event of events) {
    publish(TOPICS.tradingEvents, event.accountNumber, JSON.stringify(event));
    publish(TOPICS.tradingValuations, event.accountNumber, valuationOf(event));
  }
  return { events };
});
hello({ url: await app.listen({ host: "127.0.0.1", port: 0 }) });
