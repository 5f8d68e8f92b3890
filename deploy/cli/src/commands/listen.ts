import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { WEBHOOK_KINDS, WebhookKind } from "@kapi/contracts";
import { type Command, InvalidArgumentError } from "commander";
import { Webhook } from "standardwebhooks";

import { addCommand, type CommandContext, several, type PrintOptions } from "../context.ts";
import { CommandFailure, EXIT_CODES } from "../failure.ts";
import { FeedUnavailable, type FeedOptions, type FeedPage, type ListenedEvent, readFeed } from "../feed.ts";
import { type Forwarded, forward } from "../forward.ts";
import { fromRunningKapi } from "../running-kapi.ts";

const KEY_VARIABLE = "KAPI_KEY";
const SECRET_BYTES = 32;
/** Delay before the next request after a page without events; each request is billed. */
const POLL_MS = 1_000;
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 5_000;
/** Width of the column of kinds. */
const KIND_WIDTH = Math.max(...WEBHOOK_KINDS.map((kind) => kind.length));

interface ListenOptions extends PrintOptions {
  readonly forwardTo: string;
  readonly api?: string;
  readonly keyFile?: string;
  readonly kinds?: readonly WebhookKind[];
  readonly after?: string;
}

/** `kapi listen` */
export function addListen(program: Command, context: CommandContext): void {
  addCommand(program, "listen", "Forward an organization's events to a program on this machine, as they happen")
    .requiredOption("--forward-to <url>", "where the program receives them: http://localhost:3000/hook", address)
    .option(
      "--kinds <kinds>",
      "only these kinds, separated by commas (default: all kinds except the kinds of commands)",
      kinds,
    )
    .option("--after <cursor>", "continue after this cursor of the feed (default: from now on)")
    .option(
      "--api <url>",
      "base address of the API (default: the address of the kapi that npm start runs here)",
      address,
    )
    .option(
      "--key-file <file>",
      `a file with a management key with webhooks:read (default: ${KEY_VARIABLE}, otherwise the key of the demo)`,
    )
    .action((options: ListenOptions) => listen(context, options));
}

async function listen(context: CommandContext, options: ListenOptions): Promise<void> {
  const { signal } = context;
  const feed = await feedOf(context, options);
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
  const webhook = new Webhook(secret);
  let cursor = options.after ?? null;
  try {
    const first = await readFirst(feed, cursor, signal);
    cursor ??= first.next;
    const started = { forwardTo: options.forwardTo, api: feed.api, secret, after: cursor };
    say(context, options, started, greeting(feed, options, secret));
    for (let page = first; ; page = await nextPage(context, feed, cursor)) {
      for (const event of page.events) {
        const url = options.forwardTo;
        const forwarded = await forward(event, { url, webhook, nowMs: context.nowMs, signal });
        // The event is completed whatever the result is, so store its cursor first.
        cursor = event.cursor;
        say(context, options, lineOf(event, forwarded), [textOf(event, forwarded)]);
      }
      cursor = page.next;
      if (page.events.length === 0) await delay(POLL_MS, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    if (cursor !== null) say(context, options, { after: cursor }, [`To continue here: --after ${cursor}`]);
  }
}

function greeting({ api }: FeedOptions, { forwardTo }: ListenOptions, secret: string): readonly string[] {
  return [`Events of ${api} go to ${forwardTo}, signed with`, "", `  ${secret}`, "", "Ctrl-C stops this command."];
}

/**
 * The first page shows whether the API is reachable and accepts the key; otherwise the command
 * fails.
 */
async function readFirst(feed: FeedOptions, after: string | null, signal: AbortSignal): Promise<FeedPage> {
  try {
    return await readFeed(feed, after, signal);
  } catch (error) {
    if (error instanceof FeedUnavailable) throw new CommandFailure(`${error.message}.`, EXIT_CODES.unavailable);
    throw error;
  }
}

/** The page after the cursor; retried while the API is unavailable. */
async function nextPage({ err, signal }: CommandContext, feed: FeedOptions, cursor: string): Promise<FeedPage> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LAST_PAUSE_MS)) {
    try {
      const page = await readFeed(feed, cursor, signal);
      if (pauseMs > FIRST_PAUSE_MS) err("The API answers again.\n");
      return page;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof FeedUnavailable)) throw error;
      if (pauseMs === FIRST_PAUSE_MS) err(`${error.message}. It is tried again; no event is lost.\n`);
      await delay(pauseMs, undefined, { signal });
    }
  }
}

async function feedOf(context: CommandContext, options: ListenOptions): Promise<FeedOptions> {
  const { environment } = context;
  const { api, keyFile, kinds: wanted = [] } = options;
  const key = (keyFile === undefined ? environment[KEY_VARIABLE] : keyIn(keyFile)) ?? "";
  const demo =
    api !== undefined && key !== ""
      ? null
      : await fromRunningKapi(environment, `give ${KEY_VARIABLE} or --key-file, and --api`, ({ runningDemo }, folder) =>
          runningDemo(folder),
        );
  return {
    api: (api ?? demo?.baseUrl ?? "").replace(/\/+$/, ""),
    managementKey: key === "" ? (demo?.managementKey ?? "") : key,
    kinds: wanted.length === 0 ? null : wanted,
  };
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(`error: the key file cannot be read: ${reason}`, EXIT_CODES.usage);
  }
}

/** The output for each event: lines of text, or one line of JSON. */
function say({ out }: CommandContext, { json }: PrintOptions, value: object, lines: readonly string[]): void {
  out(json === true ? `${JSON.stringify(value)}\n` : lines.map((line) => `${line}\n`).join(""));
}

function lineOf({ id, type, timestamp, data, cursor }: ListenedEvent, forwarded: Forwarded): object {
  return { timestamp, type, accountNumber: data["accountNumber"] ?? null, id, ...forwarded, cursor };
}

function textOf({ type, timestamp, data }: ListenedEvent, { status, error, tookMs, attempts }: Forwarded): string {
  const account = data["accountNumber"];
  const end = status === null ? `no answer after ${attempts} attempts: ${error}` : `${status}  ${tookMs} ms`;
  return `${timestamp}  ${type.padEnd(KIND_WIDTH)}  ${typeof account === "string" ? account : "-"}  ${end}`;
}

function address(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol === "http:" || url?.protocol === "https:") return text;
  throw new InvalidArgumentError("It must be an address such as http://localhost:3000/hook.");
}

function kinds(text: string, before: readonly string[] | undefined): WebhookKind[] {
  return several(text, before).map((kind) => {
    const known = WebhookKind.safeParse(kind);
    if (known.success) return known.data;
    throw new InvalidArgumentError(`Unknown kind “${kind}”. Known kinds: ${WEBHOOK_KINDS.join(", ")}.`);
  });
}
