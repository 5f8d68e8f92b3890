import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Readable } from "node:stream";

import { afterEach, expect, it, vi } from "vitest";

import { freePort, keptOrFreePort } from "./ports.ts";

/** A program that chooses a free port and prints it. */
const CHOOSE = `
const { freePort } = await import(${JSON.stringify(new URL("ports.ts", import.meta.url).href)});
console.log(await freePort());
setInterval(() => undefined, 60_000);
`;
/** The range of ports, and the size of its blocks. */
const [FIRST_PORT, PORTS, BLOCK_PORTS] = [12_000, 20_000, 100];

let other: ChildProcessByStdio<null, Readable, null> | undefined;
afterEach(() => {
  other?.kill("SIGKILL");
  vi.restoreAllMocks();
});

it("freePort never chooses a port twice, even if nothing listens on the port yet", async () => {
  const ports = await Promise.all(Array.from({ length: 300 }, () => freePort()));
  expect(new Set(ports).size).toBe(300);
});

it("freePort does not choose a port that another process has chosen, even if nothing listens on the port yet", async () => {
  other = spawn(process.execPath, ["--input-type=module", "-e", CHOOSE], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(other.stdout, "data")) as [Buffer];
  const theirs = Number(line.toString());
  const block = Math.floor((theirs - FIRST_PORT) / BLOCK_PORTS);
  expect(block).toBeGreaterThanOrEqual(0);
  // This process draws the same block first.
  const draw = vi.spyOn(Math, "random").mockReturnValueOnce(((block + 0.5) * BLOCK_PORTS) / PORTS);
  const ours = await Promise.all(Array.from({ length: 300 }, () => freePort()));
  expect(draw).toHaveBeenCalled();
  expect(ours).not.toContain(theirs);
});

it("a kept port is used again, and its use by another program is reported", async () => {
  const kept = await freePort();
  expect(await keptOrFreePort(kept, "kafka-1")).toBe(kept);
  const server = createServer().listen(kept, "127.0.0.1");
  await once(server, "listening");
  await expect(keptOrFreePort(kept, "kafka-1")).rejects.toThrow(`Port ${kept} is in use. The data of kafka-1`);
  server.close();
});
