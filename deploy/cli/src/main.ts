import { createInterface } from "node:readline";

import { runCommandLine } from "./program.ts";

/** The first line of standard input, without the line break. */
async function readLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line;
  return "";
}

const ended = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ended.abort());

process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  readLine,
  nowMs: () => Date.now(),
  signal: ended.signal,
});
