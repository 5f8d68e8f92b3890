import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

import { afterEach, expect, it, vi } from "vitest";

import { freePort } from "./ports.ts";

/**
 * A program that chooses a free port and prints it. The program and the test below choose the same
 * block of ports, as two processes may by chance.
 */
const SAME_DRAW = `
Math.random = () => 0.5;
const { freePort } = await import(${JSON.stringify(new URL("ports.ts", import.meta.url).href)});
console.log(await freePort());
setInterval(() => undefined, 60_000);
`;

let other: ChildProcessByStdio<null, Readable, null> | undefined;
afterEach(() => {
  other?.kill("SIGKILL");
  vi.restoreAllMocks();
});

it("never chooses a port twice, even if nothing listens on the port yet", async () => {
  const ports = await Promise.all(Array.from({ length: 300 }, () => freePort()));
  expect(new Set(ports).size).toBe(300);
});

it("does not choose a port that another process has chosen, even if nothing listens on the port yet", async () => {
  other = spawn(process.execPath, ["--input-type=module", "-e", SAME_DRAW], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(other.stdout, "data")) as [Buffer];
  const theirs = Number(line.toString());
  const draw = vi.spyOn(Math, "random").mockReturnValueOnce(0.5);
  const ours = await Promise.all(Array.from({ length: 300 }, () => freePort()));
  expect(draw).toHaveBeenCalled();
  expect(theirs).toBeGreaterThan(0);
  expect(ours).not.toContain(theirs);
});
