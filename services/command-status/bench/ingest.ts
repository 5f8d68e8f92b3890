/**
 * Measures the cost of ingesting commands, one message and one final event each. The statements of
 * this release and of release 0.1.0 run in turns, each release on a database of its own, which is
 * empty at first. The first turn for each batch size is not measured. Usage:
 * `POSTGRES_URL=… node services/command-status/bench/ingest.ts`.
 * BENCH_TURNS (20) and BENCH_COMMANDS_PER_TURN (4,000) set the load.
 */
import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";
import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { commandMessage } from "@kapi/testkit";
import { readFileSync } from "node:fs";

import { createCommandRepository } from "../src/outbound/postgres/command-repository.ts";
import { createMonthRepository } from "../src/outbound/postgres/month-repository.ts";
import { migrateDatabase } from "../src/service.ts";
import { eventOf } from "../test/events.ts";
import { oldStore } from "../test/old-release.ts";

const TURNS = Number(process.env["BENCH_TURNS"] ?? 20);
const PER_TURN = Number(process.env["BENCH_COMMANDS_PER_TURN"] ?? 4_000);
const BATCH_SIZES = [16, 200];
const SERVER_URL = process.env["POSTGRES_URL"] ?? "";
/** Number of servers that the commands are spread over, each of its own organization. */
const SERVERS = 20;
const servers = Array.from({ length: SERVERS }, () => commandMessage());
/** Indexes of the processor times among the fields of `/proc/<pid>/stat` after the name. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;
const TICK_US = 10_000;
const logger = createLogger({ service: "bench", level: "error" });

const ALLOW_OLD_RELEASE = statement<Record<string, never>>(
  "allow_old_release",
  "update command_placement set monthly_from = now() + interval '1 day'",
);

interface Release {
  readonly name: string;
  readonly database: Database;
  readonly messages: (messages: readonly AnyCommandMessage[]) => Promise<unknown>;
  readonly events: (events: readonly CommandEvent[]) => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

interface Measurement {
  /** Milliseconds in which each batch of messages and its final events were ingested. */
  readonly times: number[];
  /** Processor time of the database's process, in clock ticks. */
  ticks: number;
  commands: number;
}

async function openDatabase(
  name: string,
  genericPlans: boolean,
): Promise<{ database: Database; stop: () => Promise<void> }> {
  const server = await startPool({ connectionString: SERVER_URL, schema: "public", applicationName: "bench", logger });
  await server.value.query(statement(`drop_${name}`, `drop database if exists ${name}`), []);
  await server.value.query(statement(`create_${name}`, `create database ${name}`), []);
  await server.stop();
  const url = new URL(SERVER_URL);
  url.pathname = `/${name}`;
  await migrateDatabase({ config: { POSTGRES_URL: url.href }, logger });
  const { value, stop } = await startPool({
    connectionString: url.href,
    schema: "command_status",
    applicationName: "bench",
    max: 1,
    genericPlans,
    logger,
  });
  return { database: value, stop };
}

async function openReleases(): Promise<readonly Release[]> {
  const before = await openDatabase("bench_before", false);
  // A new database stores commands by month from its migration on, and rejects release 0.1.0.
  await before.database.query(ALLOW_OLD_RELEASE, []);
  const old = oldStore(before.database);
  const now = await openDatabase("bench_now", true);
  await createMonthRepository(now.database).createPartitions();
  const repository = createCommandRepository(now.database);
  return [
    { name: "release 0.1.0", ...before, messages: old.ingestMessages, events: old.ingestEvents },
    {
      name: "this release",
      ...now,
      messages: (messages) => repository.ingestMessages(messages, []),
      events: (events) => repository.ingestEvents(events, []),
    },
  ];
}

const PID = statement<{ pid: number }>("bench_pid", "select pg_backend_pid() as pid");

/**
 * Processor time so far, in clock ticks, of the process that serves the release's database
 * connection. PostgreSQL must run on this machine.
 */
async function ticksOf({ database }: Release): Promise<number> {
  const [{ pid } = { pid: 0 }] = await database.query(PID, []);
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME]);
}

/** Ingests {@link PER_TURN} commands; returns the milliseconds of each batch. */
async function turn({ messages, events }: Release, batchSize: number): Promise<number[]> {
  const times: number[] = [];
  for (let made = 0; made < PER_TURN; made += batchSize) {
    const batch = Array.from({ length: batchSize }, (_, index) => {
      const { organizationId, serverId, accountNumber } = servers[(made + index) % SERVERS] ?? commandMessage();
      return commandMessage({ organizationId, serverId, accountNumber, createdAt: new Date().toISOString() });
    });
    const finalEvents = batch.map((message) => eventOf(message));
    const startedMs = performance.now();
    await messages(batch);
    await events(finalEvents);
    times.push(performance.now() - startedMs);
  }
  return times;
}

const SIZE = statement<{ name: string; bytes: number; rows: number }>(
  "bench_size",
  `select relname as name, pg_total_relation_size(oid)::bigint as bytes, reltuples::bigint as rows from pg_class
   where relkind = 'r' and relnamespace = 'command_status'::regnamespace and reltuples > 100 order by 1`,
);

function report(name: string, { times, ticks, commands }: Measurement, batchSize: number): void {
  const sorted = times.toSorted((left, right) => left - right);
  const each = (part: number): string =>
    (((sorted[Math.floor(sorted.length * part)] ?? 0) * 1_000) / batchSize).toFixed(0);
  const processor = ((ticks * TICK_US) / commands).toFixed(0);
  console.log(
    `batches of ${batchSize}, ${name}: each command takes ${each(0.5)} µs (p50) or ${each(0.99)} µs (p99), ` +
      `and ${processor} µs of the database's processor time`,
  );
}

const all = await openReleases();
for (const batchSize of BATCH_SIZES) {
  const measurements = new Map<Release, Measurement>();
  for (const release of all) measurements.set(release, { times: [], ticks: 0, commands: 0 });
  for (let round = 0; round < TURNS; round += 1) {
    for (const [release, sum] of round % 2 === 0 ? [...measurements] : [...measurements].toReversed()) {
      const ticksBefore = await ticksOf(release);
      const times = await turn(release, batchSize);
      if (round === 0) continue;
      sum.times.push(...times);
      sum.ticks += (await ticksOf(release)) - ticksBefore;
      sum.commands += times.length * batchSize;
    }
  }
  for (const [{ name }, sum] of measurements) report(name, sum, batchSize);
}
for (const { name, database, stop } of all) {
  await database.query(statement("bench_vacuum", "vacuum analyze"), []);
  for (const row of await database.query(SIZE, []))
    console.log(`${name}, ${row.name}: ${Math.round(row.bytes / row.rows)} bytes a row with indexes, ${row.rows} rows`);
  await stop();
}
