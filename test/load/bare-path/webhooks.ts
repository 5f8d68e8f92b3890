/** Writes one row of the event feed for each booked deposit. */
import { TOPICS } from "@kapi/contracts";

import { bareProcess, ORGANIZATION_ID, parsed, SEPARATOR } from "./bare-process.ts";
import type { BareBalanceEvent, BareFinalEvent } from "./messages.ts";

const MIN_INTERVAL_MS = 200;
const WRITE = `insert into bare.events
  select $1::uuid, i, p, b from unnest($2::uuid[], $3::bigint[], string_to_array($4, E'\\x1f')) as given (i, p, b) on conflict do nothing`;

const { query, consume, hello } = await bareProcess("webhooks");
let position = 0;

// No endpoint subscribes to final states of commands, so these events are only parsed.
await consume(
  TOPICS.commandEvents,
  { minIntervalMs: MIN_INTERVAL_MS },
  async (messages) => void parsed<BareFinalEvent>(messages),
);
await consume(TOPICS.financeEvents, { minIntervalMs: MIN_INTERVAL_MS }, async (messages) => {
  const events = parsed<BareBalanceEvent>(messages);
  await query("events", WRITE, [
    ORGANIZATION_ID,
    events.map(({ id }) => id),
    events.map(() => (position += 1)),
    events.map((event) => JSON.stringify(event)).join(SEPARATOR),
  ]);
});
hello({ ready: true });
