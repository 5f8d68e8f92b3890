/**
 * A complete receiver of kapi's webhooks. It verifies each delivery, processes each event once, and
 * fetches the events that it missed while it was unavailable. `docs/webhooks.md` explains the
 * reasons. It needs Node 22.18 or later and the package `standardwebhooks`:
 *
 *   WEBHOOK_SECRET=whsec_… KAPI_URL=https://… KAPI_KEY=kapi.… node webhook-receiver.ts
 *
 * It writes each processed event to a journal, one JSON object per line. In your program the
 * journal is your database: one transaction stores the id of an event and its effect.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

import { Webhook } from "standardwebhooks";

type Event = { type: string; timestamp: string; data: { eventId: string; accountSequence: number | null } };
type Feed = { events: Event[]; next: string };
type Line = { event?: Event; place?: string };

const { WEBHOOK_SECRET = "", KAPI_URL = "", KAPI_KEY = "", PORT = "3000", JOURNAL = "webhooks.jsonl" } = process.env;
/** Larger than every event. */
const MAX_BODY_BYTES = 1_048_576;
const CATCH_UP_EVERY_MS = 60_000;
const ANSWER_TIMEOUT_MS = 10_000;

const webhook = new Webhook(WEBHOOK_SECRET);
const log = (text: string): boolean => process.stderr.write(`${new Date().toISOString()} ${text}\n`);

/** Ids of the events that were processed. */
const processed = new Set<string>();
/** The cursor after the last page of the feed that was processed; "now" before the first page. */
let place = "now";
readJournal();

createServer((request, response) => void receive(request, response)).listen(Number(PORT), () => {
  log(`listening on port ${PORT}`);
});
for (;;) {
  await catchUp().catch((error: unknown) => log(`the feed cannot be read now: ${String(error)}`));
  await delay(CATCH_UP_EVERY_MS);
}

/**
 * Handles a delivery. Answers 2xx only after the event is stored. After 400 or 500 kapi sends the
 * event again later.
 */
async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const body = await bytesOf(request);
    const event = verifiedEvent(body, request.headers as Record<string, string>);
    if (event !== null) processOnce(event);
    response.writeHead(event === null ? 400 : 204).end();
  } catch (error) {
    log(`a delivery failed: ${String(error)}`);
    response.writeHead(500).end();
  }
}

/**
 * The event of a delivery; null if the signature is invalid or too old. The signature is of the
 * received bytes, so verify them before parsing.
 */
function verifiedEvent(body: Buffer, headers: Record<string, string>): Event | null {
  try {
    return webhook.verify(body, headers) as Event;
  } catch {
    return null;
  }
}

/**
 * An event can arrive again after a lost answer, after a replay, and in the feed. A repeated event
 * has the same id.
 */
function processOnce(event: Event): void {
  if (processed.has(event.data.eventId)) return;
  write({ event });
  processed.add(event.data.eventId);
}

/** Reads the feed from the stored cursor to the newest event. */
async function catchUp(): Promise<void> {
  for (let before = ""; before !== place;) {
    before = place;
    const url = `${KAPI_URL}/api/v1/management/events?limit=1000&after=${encodeURIComponent(place)}`;
    const headers = { Authorization: `Management ${KAPI_KEY}` };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    const { events, next } = (await response.json()) as Feed;
    for (const { type, timestamp, data } of events) processOnce({ type, timestamp, data });
    if (next !== place) write({ place: next });
    place = next;
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error("the body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The line break comes first: after a line that a crash cut off, the next line is complete. */
function write(line: Line): void {
  appendFileSync(JOURNAL, `\n${JSON.stringify(line)}`);
}

function readJournal(): void {
  for (const line of existsSync(JOURNAL) ? readFileSync(JOURNAL, "utf8").split("\n") : []) {
    try {
      const { event, place: kept } = JSON.parse(line) as Line;
      if (event !== undefined) processed.add(event.data.eventId);
      if (kept !== undefined) place = kept;
    } catch {
      // Empty, or cut off by a crash: such a line stores nothing. Its events arrive again.
    }
  }
}
