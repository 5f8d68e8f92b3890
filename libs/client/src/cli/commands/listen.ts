import { randomBytes } from "node:crypto";

import type { Command } from "commander";
import { Webhook } from "standardwebhooks";

import { delay } from "../../delay.ts";
import { KapiError } from "../../errors.ts";
import type { FeedEvent, WebhookKind } from "../../generated/api.ts";
import { formatRequest } from "../../money.ts";
import { type GlobalOptions, ProfileStore } from "../connection.ts";
import { address, openSession, type Session, withGlobalOptions } from "../context.ts";
import type { Surroundings } from "../surroundings.ts";
import { kinds } from "./webhooks.ts";

const SECRET_BYTES = 32;
/** Delay before the next request after a page without events; each request is billed. */
const POLL_MS = 1_000;
/** Deadline of an answer: the default of kapi for deliveries. */
const ANSWER_TIMEOUT_MS = 15_000;
/** Delays before retries if the program does not answer. After the last, the event is skipped. */
const RETRY_DELAYS_MS = [250, 500, 1_000, 2_000, 4_000] as const;
const KIND_WIDTH = 24;

interface ListenOptions extends GlobalOptions {
  readonly forwardTo: string;
  readonly kinds?: WebhookKind[];
  readonly after?: string;
  readonly newSecret?: true;
}

/** The result of forwarding an event: the status of the answer, or why there is no answer. */
interface Forwarded {
  readonly status: number | null;
  readonly error: string | null;
  /** Duration of the last attempt. */
  readonly durationMs: number;
  readonly attempts: number;
}

/** Adds `kapi listen` to the program. */
export function addListen(program: Command, surroundings: Surroundings): void {
  withGlobalOptions(
    program.command("listen").description("Forward events to a program on this machine, as they happen"),
  )
    .requiredOption("--forward-to <url>", "where the program receives them: http://localhost:3000/hook", address)
    .option("--kinds <kinds>", "only these kinds, separated by commas (default: all except those of commands)", kinds)
    .option("--after <cursor>", "continue after this cursor of the feed (default: from now on)")
    .option("--new-secret", "sign with a new secret (default: the secret of the last start)")
    .action(async (options: ListenOptions) => listen(await openSession(surroundings, options), options));
}

async function listen(session: Session, options: ListenOptions): Promise<void> {
  const { kapi, output, surroundings } = session;
  const { signal } = surroundings;
  const { forwardTo, kinds: wanted, after } = options;
  const secret = secretOf(session, options);
  const webhook = new Webhook(secret);
  // The first page shows whether the key is accepted; an error ends the command.
  let page = await kapi.events.page({ after: after ?? "now", kinds: wanted });
  let cursor = after ?? page.next;
  output.line(
    { forwardTo, api: session.connection.baseUrl, secret, after: cursor },
    `Events of ${session.connection.baseUrl} go to ${forwardTo}, signed with\n\n  ${secret}\n\nCtrl-C stops this command.`,
  );
  try {
    for (;;) {
      for (const event of page.events) {
        const forwarded = await forward(event, forwardTo, webhook, signal);
        cursor = event.cursor;
        output.line(lineOf(event, forwarded), textOf(event, forwarded));
      }
      cursor = page.next;
      if (page.events.length === 0) await delay(POLL_MS, signal);
      page = await readOn(session, cursor, wanted);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    output.line({ after: cursor }, `To continue here: --after ${cursor}`);
  }
}

/** The page after the cursor. Repeats the read while kapi is unreachable or answers 429 or 5xx. */
async function readOn({ kapi, output, surroundings }: Session, after: string, wanted: WebhookKind[] | undefined) {
  for (let isReported = false; ; isReported = true) {
    try {
      return await kapi.events.page({ after, kinds: wanted });
    } catch (error) {
      if (!(error instanceof KapiError) || !error.retryable) throw error;
      if (!isReported) output.note(`${error.message}. kapi listen tries again; no event is lost.`);
      await delay(POLL_MS, surroundings.signal);
    }
  }
}

/**
 * The secret of the profile, so that a receiver need not be configured at each start. With
 * `--new-secret`, or if the profile has none, a new secret is stored.
 */
function secretOf({ output, surroundings }: Session, { profile, newSecret }: ListenOptions): string {
  const store = new ProfileStore(surroundings);
  const stored = store.read(profile);
  if (stored?.webhookSecret !== undefined && newSecret !== true) return stored.webhookSecret;
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
  try {
    store.write({ ...stored, webhookSecret: secret }, profile);
  } catch (error) {
    output.note(`The secret cannot be stored, so the next start makes another secret: ${reasonOf(error)}`);
  }
  return secret;
}

/** Sends an event. Any answer ends the delivery; without one it is retried up to five times. */
async function forward(event: FeedEvent, url: string, webhook: Webhook, signal: AbortSignal): Promise<Forwarded> {
  for (let attempts = 1; ; attempts += 1) {
    const startedAtMs = performance.now();
    const { status, error } = await send(event, url, webhook, signal);
    const durationMs = Math.round(performance.now() - startedAtMs);
    const pauseMs = RETRY_DELAYS_MS[attempts - 1];
    if (status !== null || pauseMs === undefined) return { status, error, durationMs, attempts };
    await delay(pauseMs, signal);
  }
}

async function send(
  { id, type, timestamp, data }: FeedEvent,
  url: string,
  webhook: Webhook,
  signal: AbortSignal,
): Promise<Pick<Forwarded, "status" | "error">> {
  // Amounts of money are numbers in a delivery, as on the wire.
  const body = formatRequest({ type, timestamp, data });
  const now = new Date();
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      headers: {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
        "webhook-signature": webhook.sign(id, now, body),
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    });
    await response.body?.cancel();
    return { status: response.status, error: null };
  } catch (error) {
    signal.throwIfAborted();
    return { status: null, error: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code } = (error.cause ?? error) as NodeJS.ErrnoException;
  return message === "" ? (code ?? error.message) : message;
}

function lineOf({ id, type, timestamp, data, cursor }: FeedEvent, forwarded: Forwarded): object {
  return { timestamp, type, accountNumber: data.accountNumber, id, ...forwarded, cursor };
}

function textOf({ type, timestamp, data }: FeedEvent, { status, error, durationMs, attempts }: Forwarded): string {
  const end = status === null ? `no answer after ${attempts} attempts: ${error}` : `${status}  ${durationMs} ms`;
  return `${timestamp}  ${type.padEnd(KIND_WIDTH)}  ${data.accountNumber ?? "-"}  ${end}`;
}
