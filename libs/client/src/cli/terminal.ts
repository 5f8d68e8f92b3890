/** The surroundings of a command in a terminal. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

import { EXIT_CODES, UsageError } from "./exit.ts";
import type { Surroundings } from "./surroundings.ts";

const DEFAULT_COLUMNS = 120;

/** Returns the surroundings of this process. Ctrl-C (SIGINT) or SIGTERM aborts `signal`. */
export function terminalSurroundings(fallback?: Surroundings["fallback"]): Surroundings {
  const ended = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ended.abort());
  // EPIPE: the reader of a pipe, such as `head`, has read enough and closed it.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(EXIT_CODES.done);
  });
  return {
    environment: process.env,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    ask: (question, options) => ask(question, options?.isSecret === true, ended.signal),
    readLine: () => readLine(ended.signal),
    isTerminal: process.stdout.isTTY,
    columns: process.stdout.columns ?? DEFAULT_COLUMNS,
    nowMs: () => Date.now(),
    signal: ended.signal,
    fallback,
  };
}

/** The first line of standard input, without the line break. @throws the reason of an abort. */
async function readLine(signal: AbortSignal): Promise<string> {
  for await (const line of createInterface({ input: process.stdin, signal })) return line;
  signal.throwIfAborted();
  return "";
}

/**
 * Asks for a line on the terminal. A secret answer is not shown.
 * @throws UsageError for the end of the input; the reason of an abort.
 */
async function ask(question: string, isSecret: boolean, signal: AbortSignal): Promise<string> {
  process.stderr.write(question);
  const output = isSecret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: process.stdin.isTTY, signal });
  const line = await new Promise<string>((resolve, reject) => {
    lines.once("line", resolve);
    lines.once("close", () => reject(signal.aborted ? signal.reason : new UsageError("No answer was given.")));
  });
  lines.close();
  if (isSecret) process.stderr.write("\n");
  return line.trim();
}
