/** Writes a command together with its final event, and answers which ids are known. */
import { TOPICS } from "@kapi/contracts";
import { fastify } from "fastify";

import { bareProcess, ORGANIZATION_ID, parsed, SEPARATOR, SERVER_ID } from "./bare-process.ts";
import type { BareCommand, BareFinalEvent } from "./messages.ts";

const MIN_INTERVAL_MS = 200;
const WRITE = `insert into bare.commands
  select c, $1::uuid, $2::uuid, a, 'bench', t::timestamptz, 'finance.deposit', 'succeeded', m, e
  from unnest($3::uuid[], $4::text[], $5::text[], string_to_array($6, E'\\x1f'), string_to_array($7, E'\\x1f')) as given (c, a, t, m, e)
  on conflict do nothing`;
const KNOWN = "select command_id, message, event from bare.commands where command_id = any($1::uuid[])";

const { query, consume, hello } = await bareProcess("command-status");
const commands = new Map<string, BareCommand>();
const finals = new Map<string, BareFinalEvent>();

async function write(pairs: readonly (readonly [BareCommand, BareFinalEvent])[]): Promise<void> {
  if (pairs.length === 0) return;
  await query("write", WRITE, [
    ORGANIZATION_ID,
    SERVER_ID,
    pairs.map(([{ id }]) => id),
    pairs.map(([{ accountNumber }]) => accountNumber),
    pairs.map(([{ createdAt }]) => createdAt),
    pairs.map(([command]) => JSON.stringify(command)).join(SEPARATOR),
    pairs.map(([, end]) => JSON.stringify(end)).join(SEPARATOR),
  ]);
}

/** Pairs each item with its match in `other`. An item without a match waits in `mine`. */
function joined<A, B>(
  items: readonly A[],
  idOf: (item: A) => string,
  mine: Map<string, A>,
  other: Map<string, B>,
): [A, B][] {
  const pairs: [A, B][] = [];
  for (const item of items) {
    const match = other.get(idOf(item));
    other.delete(idOf(item));
    if (match === undefined) mine.set(idOf(item), item);
    else pairs.push([item, match]);
  }
  return pairs;
}

const app = fastify();
app.post<{ Body: string[] }>("/known", async ({ body }) =>
  (await query<{ command_id: string }>("known", KNOWN, [body])).map((row) => row.command_id),
);
const url = await app.listen({ host: "127.0.0.1", port: 0 });
await consume(TOPICS.commandsFinance, { minIntervalMs: MIN_INTERVAL_MS }, (messages) =>
  write(joined(parsed<BareCommand>(messages), ({ id }) => id, commands, finals)),
);
await consume(TOPICS.commandEvents, { minIntervalMs: MIN_INTERVAL_MS }, (messages) =>
  write(
    joined(parsed<BareFinalEvent>(messages), ({ commandId }) => commandId, finals, commands).map(([end, command]) => [
      command,
      end,
    ]),
  ),
);
hello({ url });
