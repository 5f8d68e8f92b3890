/** Stores the last event sequence of each account. */
import { TOPICS } from "@kapi/contracts";

import { bareProcess, parsed, SERVER_ID } from "./bare-process.ts";
import type { BareBalanceEvent } from "./messages.ts";

const MIN_INTERVAL_MS = 200;
const WRITE = `insert into bare.feeds select $1::uuid, a, s from unnest($2::text[], $3::bigint[]) as given (a, s)
  on conflict (server_id, account_number) do update set booked_sequence = excluded.booked_sequence`;

const { query, consume, hello } = await bareProcess("account");
await consume(TOPICS.tradingEvents, { minIntervalMs: MIN_INTERVAL_MS }, async (messages) => {
  const newest = new Map(
    parsed<BareBalanceEvent>(messages).map(({ accountNumber, sequence }) => [accountNumber, sequence]),
  );
  await query("feeds", WRITE, [SERVER_ID, [...newest.keys()], [...newest.values()]]);
});
hello({ ready: true });
