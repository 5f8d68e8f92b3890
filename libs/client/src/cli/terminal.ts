/** The surroundings of a command in a terminal. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

import type { Surroundings } from "./surroundings.ts";

const DEFAULT_COLUMNS = 120;

/** Returns the surroundings of this process. Ctrl-C ends a command that runs until it is stopped. */
export function terminalSurroundings(fallback?: Surroundings["fallback"]): Surroundings {
  const ended = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ended.abort());
  return {
    environment: process.env,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    ask: (question, options) => ask(question, options?.isSecret === true),
    readLine,
    isTerminal: process.stdout.isTTY,
    columns: process.stdout.columns ?? DEFAULT_COLUMNS,
    nowMs: () => Date.now(),
    signal: ended.signal,
    fallback,
  };
}

/** The first line of standard input, without the line break. */
async function readLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line;
  return "";
}

/** Asks for a line on the terminal. The echo of a secret answer is dropped. */
async function ask(question: string, isSecret: boolean): Promise<string> {
  process.stderr.write(question);
  const output = isSecret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: process.stdin.isTTY });
  const line = await new Promise<string>((resolve) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(""));
  });
  lines.close();
  if (isSecret) process.stderr.write("\n");
  return line.trim();
}
