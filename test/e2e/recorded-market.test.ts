/**
 * The tests of first-path.ts on a fast replay of recorded quotes. QUOTES_FILE names a CSV file of
 * quotes. Without QUOTES_FILE the test writes a short file.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe } from "vitest";

import { describeFirstPath } from "./first-path.ts";
import { type RunningSystem, startSystem } from "./system.ts";

const REPLAY_SPEED = "60";
const ROWS = 2_000;

let system: RunningSystem;
const folder = mkdtempSync(path.join(tmpdir(), "kapi-quotes-"));

/** Writes a file of four EURUSD quotes a second, in the format of a recording. Returns its path. */
function writeQuotes(): string {
  const file = path.join(folder, "EURUSD-ticks.csv");
  const startMs = Date.parse("2020-01-02T00:00:00Z");
  const rows = Array.from({ length: ROWS }, (_, index) => {
    const bid = 1.12 + 0.001 * Math.sin(index / 7);
    return `${new Date(startMs + index * 250).toISOString()},${bid.toFixed(5)},${(bid + 0.0002).toFixed(5)}`;
  });
  writeFileSync(file, `time,bid,ask\n${rows.join("\n")}\n`);
  return file;
}

beforeAll(async () => {
  const quotes = process.env["QUOTES_FILE"];
  const file = quotes === undefined || quotes === "" ? writeQuotes() : path.resolve(quotes);
  system = await startSystem({ "trading-simulator": { QUOTES_FILE: file, QUOTES_SPEED: REPLAY_SPEED } });
});

afterAll(async () => {
  await system.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("the first path on recorded quotes", () => {
  describeFirstPath({ demo: () => system.demo, postgresUrl: () => system.stack.servers.postgresUrl });
});
