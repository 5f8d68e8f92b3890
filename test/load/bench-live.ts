/**
 * `npm run bench -- live`: how fast valuations become samples on live sockets, and the processor
 * time and memory for it. The same run measures bare loops for comparison. It starts separate
 * servers and metrics processes. Only one measurement starts all services, in one process. A stub
 * route replaces the account service: every account exists. The sender of valuations, the clients
 * and kapi share the machine, so only the ratios are meaningful.
 * `npm run bench -- live sequence fanout` runs only these parts.
 */
import { rmSync } from "node:fs";
import path from "node:path";

import { printedReport, startServers, stopRecorded } from "@kapi/servers";
import { STATE_VARIABLE } from "@kapi/testkit";

import { type Aim, table } from "./bench-live-aims.ts";
import { restart, sockets } from "./bench-live-memory.ts";
import { fanOut, sequence } from "./bench-live-sequence.ts";
import { sequencers } from "./bench-live-sequencers.ts";
import { windows } from "./bench-live-windows.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench-live");
const PARTS: Readonly<Record<string, () => Promise<Aim[]>>> = {
  sequence,
  fanout: fanOut,
  sockets,
  restart,
  windows,
  sequencers,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PARTS));
if (unknown.length > 0) throw new Error(`no part ${unknown.join(", ")}; there are ${Object.keys(PARTS).join(", ")}`);

// process.exit also ends the processes of the parts.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
// A separate folder, because tests remove the folders of killed runs from the shared state folder.
process.env[STATE_VARIABLE] = path.join(STATE_DIR, "parts");
// Stops the processes of a killed run first. Each run starts with empty servers.
await stopRecorded(path.join(STATE_DIR, "servers"));
rmSync(STATE_DIR, { recursive: true, force: true });
const servers = await startServers({ stateDir: STATE_DIR, report: printedReport() });
try {
  // Addresses of the servers for the parts. Each part has its own topics and database.
  process.env["KAFKA_BROKERS"] = servers.kafkaBrokers;
  process.env["POSTGRES_URL"] = servers.postgresUrl;
  process.env["REDIS_URL"] = servers.redisUrl;
  const aims: Aim[] = [];
  for (const [name, part] of Object.entries(PARTS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    console.log(`${name}:`);
    const found = await part();
    console.log(table(found));
    aims.push(...found);
  }
  console.log(`\n${table(aims)}`);
} finally {
  await servers.stop();
}
