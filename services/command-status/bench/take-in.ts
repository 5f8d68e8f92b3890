/**
 * What it costs to take commands in, one message and one final event each: the statements of this
 * release and those of the release before, in turns, on an empty database each. Give it a server:
 * `POSTGRES_URL=… node bench/take-in.ts`. BENCH_TURNS (20) and BENCH_COMMANDS_PER_TURN (4,000) ask
 * for other loads.
 */
import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";
import { createPool, type Database, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { commandMessage } from "@kapi/testkit";
import { readFileSync } from "node:fs";

import { createCommandStore } from "../src/outbound/postgres/command-store.ts";
import { createMonthStore } from "../src/outbound/postgres/months.ts";
import { migrateDatabase } from "../src/service.ts";
import { eventOf } from "../test/events.ts";
import { oldStore } from "../test/old-release.ts";

const TURNS = Number(process.env["BENCH_TURNS"] ?? 20);
const PER_TURN = Number(process.env["BENCH_COMMANDS_PER_TURN"] ?? 4_000);
const BATCH_SIZES = [16, 200];
const SERVER_URL = process.env["POSTGRES_URL"] ?? "";
/** Commands are of so many servers, each of an organization of its own. */
const SERVERS = 20;
const servers = Array.from({ length: SERVERS }, () => commandMessage());
/** Places of the processor times in `/proc/<pid>/stat`, after the name. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;
const TICK_US = 10_000;
const logger = createLogger({ service: "bench", level: "error" });

interface Rival {
  readonly name: string;
  readonly database: Database;
  readonly messages: (messages: readonly AnyCommandMessage[]) => Promise<unknown>;
  readonly events: (events: readonly CommandEvent[]) => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

interface Taken {
  /** Milliseconds of each batch. */
  readonly times: number[];
  /** Processor time of the database's process, in clock ticks. */
  ticks: number;
  commands: number;
}

async function openDatabase(
  name: string,
  genericPlans: boolean,
): Promise<{ database: Database; stop: () => Promise<void> }> {
  const server = await createPool({ connectionString: SERVER_URL, schema: "public", applicationName: "bench", logger });
  await server.value.query(statement(`drop_${name}`, `drop database if exists ${name}`), []);
  await server.value.query(statement(`create_${name}`, `create database ${name}`), []);
  await server.stop();
  const url = new URL(SERVER_URL);
  url.pathname = `/${name}`;
  await migrateDatabase({ config: { POSTGRES_URL: url.href }, logger });
  const { value, stop } = await createPool({
    connectionString: url.href,
    schema: "command_status",
    applicationName: "bench",
    max: 1,
    genericPlans,
    logger,
  });
  return { database: value, stop };
}

async function rivals(): Promise<readonly Rival[]> {
  const before = await openDatabase("bench_before", false);
  const old = oldStore(before.database);
  const now = await openDatabase("bench_now", true);
  await createMonthStore(now.database).keep();
  const store = createCommandStore(now.database);
  return [
    { name: "before", ...before, messages: old.takeInMessages, events: old.takeInEvents },
    {
      name: "now",
      ...now,
      messages: (messages) => store.takeInMessages(messages, []),
      events: (events) => store.takeInEvents(events, []),
    },
  ];
}

const PID = statement<{ pid: number }>("bench_pid", "select pg_backend_pid() as pid");

/** Processor time of the rival's connection in the database so far; it runs on this machine. */
async function ticksOf({ database }: Rival): Promise<number> {
  const [{ pid } = { pid: 0 }] = await database.query(PID, []);
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME]);
}

/** Milliseconds of each batch. */
async function turn({ messages, events }: Rival, batchSize: number): Promise<number[]> {
  const times: number[] = [];
  for (let made = 0; made < PER_TURN; made += batchSize) {
    const batch = Array.from({ length: batchSize }, (_, index) => {
      const { organizationId, serverId, accountNumber } = servers[(made + index) % SERVERS] ?? commandMessage();
      return commandMessage({ organizationId, serverId, accountNumber, createdAt: new Date().toISOString() });
    });
    const ends = batch.map((message) => eventOf(message));
    const beganMs = performance.now();
    await messages(batch);
    await events(ends);
    times.push(performance.now() - beganMs);
  }
  return times;
}

const SIZE = statement<{ name: string; bytes: number; rows: number }>(
  "bench_size",
  `select relname as name, pg_total_relation_size(oid)::bigint as bytes, reltuples::bigint as rows from pg_class
   where relkind = 'r' and relnamespace = 'command_status'::regnamespace and reltuples > 100 order by 1`,
);

function report(name: string, { times, ticks, commands }: Taken, batchSize: number): void {
  const sorted = times.toSorted((left, right) => left - right);
  const each = (part: number): string =>
    (((sorted[Math.floor(sorted.length * part)] ?? 0) * 1_000) / batchSize).toFixed(0);
  const processor = ((ticks * TICK_US) / commands).toFixed(0);
  console.log(
    `batches of ${batchSize}, ${name}: µs a command: p50 ${each(0.5)}, p99 ${each(0.99)}, database's processor ${processor}`,
  );
}

const all = await rivals();
for (const batchSize of BATCH_SIZES) {
  const taken = new Map<Rival, Taken>();
  for (const rival of all) taken.set(rival, { times: [], ticks: 0, commands: 0 });
  for (let round = 0; round < TURNS; round += 1) {
    for (const [rival, sum] of round % 2 === 0 ? [...taken] : [...taken].toReversed()) {
      const ticksBefore = await ticksOf(rival);
      const times = await turn(rival, batchSize);
      if (round === 0) continue;
      sum.times.push(...times);
      sum.ticks += (await ticksOf(rival)) - ticksBefore;
      sum.commands += times.length * batchSize;
    }
  }
  for (const [{ name }, sum] of taken) report(name, sum, batchSize);
}
for (const { name, database, stop } of all) {
  await database.query(statement("bench_vacuum", "vacuum analyze"), []);
  for (const row of await database.query(SIZE, []))
    console.log(`${name}: ${row.name}: ${Math.round(row.bytes / row.rows)} bytes a row with indexes, ${row.rows} rows`);
  await stop();
}
