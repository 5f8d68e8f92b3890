/** Writes two credit ledger entries per charge: from the usage stream, and from the final event. */
import { setTimeout as delay } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import { Redis } from "ioredis";

import { bareProcess, fatal, ORGANIZATION_ID, parsed } from "./bare-process.ts";
import type { BareFinalEvent } from "./messages.ts";

const STREAM = "{bare-path}:usage";
const READ_INTERVAL_MS = 200;
const MAX_ENTRIES = 1_000;
const MIN_INTERVAL_MS = 500;
const WRITE = `insert into bare.credit_entries
  select c, $2, $1::uuid, 1, 'epoch', 'finance.deposit', now(), c from unnest($3::uuid[]) as given (c) on conflict do nothing`;

const { query, consume, hello } = await bareProcess("organization");
const redis = new Redis(process.env["REDIS_URL"] ?? "");

/** An entry of the usage stream. `fields` has names and values in turn; the first is `charge`. */
type Entry = readonly [id: string, fields: readonly string[]];

async function readUsage(): Promise<never> {
  for (let from = "0"; ; await delay(READ_INTERVAL_MS)) {
    const entries = (await redis.xrange(STREAM, `(${from}`, "+", "COUNT", MAX_ENTRIES)) as Entry[];
    const last = entries.at(-1);
    if (last === undefined) continue;
    await query("entries", WRITE, [ORGANIZATION_ID, "reserve", entries.map(([, fields]) => fields[1])]);
    [from] = last;
    await redis.xtrim(STREAM, "MINID", from);
  }
}

await redis.del(STREAM);
readUsage().catch(fatal);
await consume(TOPICS.commandEvents, { minIntervalMs: MIN_INTERVAL_MS }, async (messages) => {
  const charges = parsed<BareFinalEvent>(messages).map(({ credits }) => credits.chargeId);
  await query("entries", WRITE, [ORGANIZATION_ID, "consume", charges]);
});
hello({ ready: true });
