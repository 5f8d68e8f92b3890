/**
 * A complete client of kapi's live metrics. It subscribes, stores its last sequences, reconnects
 * after a lost connection, and reads the account over the HTTP API when samples are no longer
 * available. `docs/live-metrics.md` explains the reasons. It needs Node 22.18 or later and the
 * package `ws`:
 *
 * KAPI_URL=https://… KAPI_LIVE_URL=wss://… KAPI_KEY=kapi.… node live-metrics-client.ts
 * <serverId>/<accountNumber> …
 *
 * It writes each processed sample to a journal, one JSON object per line. A line has the sample and
 * the sequence from which to continue, so both are stored together or not at all (in your program,
 * in one transaction). After a truncated replay, a line has the account in place of a sample.
 */
import { on } from "node:events";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { WebSocket } from "ws";

type Account = { serverId: string; accountNumber: string };
type Replay = { lastAvailableSequence: number; replayCount: number; replayTruncated: boolean };
/** Each type of message has some of the fields. */
type Message = Account & Replay & { type: string; sequence: number; code: string; error: string };
type Positions = { positions: unknown[]; pagination: { totalPages: number } };

const { KAPI_URL = "", KAPI_LIVE_URL = "", KAPI_KEY = "", JOURNAL = "live-metrics.jsonl" } = process.env;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
const ANSWER_TIMEOUT_MS = 10_000;
/**
 * The server pings every 20 s. If nothing has arrived for longer than two pings, the connection is
 * lost.
 */
const SILENCE_MS = 45_000;
const headers = { Authorization: `Management ${KAPI_KEY}` };

const keyOf = ({ serverId, accountNumber }: Account): string => `${serverId.toLowerCase()}/${accountNumber}`;
const log = (text: string): boolean => process.stderr.write(`${new Date().toISOString()} ${text}\n`);

/**
 * Account → the sequence of its last stored sample, or of the last sample that a truncated replay
 * left out. The next subscription continues after this sequence.
 */
const places = readPlaces();
const wanted = new Set(process.argv.slice(2).map((key) => keyOf(accountOf(key))));

for (let failures = 0; ; failures += 1) {
  const { rejection, retryAfterMs, closeCode, wentWell } = await connection();
  log(`the connection has ended: ${rejection || closeCode}`);
  if (["AUTHENTICATION_REQUIRED", "MISSING_SCOPE"].includes(rejection) || closeCode === 4401) break;
  if (wentWell) failures = 0;
  const longestMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
  await delay(Math.max(retryAfterMs, longestMs / 2 + (Math.random() * longestMs) / 2));
}
log("the key is not accepted: replace it, or give it the scope metrics:read");
process.exitCode = 1;

/**
 * One connection, from its handshake to its end. `wentWell`: messages came, and the last one was
 * processed.
 */
async function connection() {
  const end = { rejection: "", retryAfterMs: 0, closeCode: 0, wentWell: false };
  const url = `${KAPI_LIVE_URL}/api/v1/management/live-metrics`;
  const ws = new WebSocket(url, { headers, perMessageDeflate: false, handshakeTimeout: ANSWER_TIMEOUT_MS });
  const silence = setTimeout(() => ws.terminate(), SILENCE_MS);
  const closed = new Promise<number>((resolve) => void ws.once("close", resolve));
  ws.on("ping", () => silence.refresh());
  ws.on("error", (error) => log(error.message));
  ws.once("unexpected-response", (_request, response) => {
    end.rejection = String(response.headers["x-error-code"] ?? response.statusCode);
    end.retryAfterMs = Number(response.headers["retry-after"] ?? 0) * 1_000;
    ws.terminate();
  });
  try {
    // One message after another. While too many messages wait, nothing is read, and the server
    // stops sending.
    const messages = on(ws, "message", { close: ["close"], highWaterMark: 1_000, lowWaterMark: 100 });
    for await (const [data] of messages) {
      silence.refresh();
      end.wentWell = false;
      await take(ws, JSON.parse(String(data)) as Message);
      end.wentWell = true;
    }
  } catch (error) {
    log(String(error));
    ws.terminate();
  }
  end.closeCode = await closed;
  clearTimeout(silence);
  return end;
}

/** Processes a message. Ignores other types: later versions may add some. */
async function take(ws: WebSocket, message: Message): Promise<void> {
  if (message.type === "connected") for (const key of wanted) subscribe(ws, key);
  if (message.type === "account.metrics.replay" && message.replayTruncated) {
    const reconciled = await reconcile(message);
    keep(message, message.lastAvailableSequence - message.replayCount, { reconciled });
  }
  if (message.type === "account.metrics") {
    const place = places.get(keyOf(message));
    // The service never sends a gap. If it did, reconnect and continue after our last sequence.
    if (place !== undefined && message.sequence !== place + 1)
      throw new Error(`gap after sequence ${place} of ${keyOf(message)}`);
    keep(message, message.sequence, { sample: message });
  }
  if (message.type === "error") log(`${message.code}: ${message.error}`);
  const refused = ["ACCOUNT_NOT_FOUND", "SERVER_ACCESS_DENIED"].includes(message.code);
  if (message.type === "account.deleted" || refused) wanted.delete(keyOf(message));
}

/** Without a stored sequence `afterSequence` is omitted: `JSON.stringify` drops it. */
function subscribe(ws: WebSocket, key: string): void {
  ws.send(JSON.stringify({ type: "subscribe", ...accountOf(key), afterSequence: places.get(key) }));
}

/**
 * The account and its open positions now: the state with which a client continues after a truncated
 * replay.
 */
async function reconcile({ serverId, accountNumber }: Account): Promise<object> {
  const url = `${KAPI_URL}/api/v1/management/servers/${serverId}/accounts/${accountNumber}`;
  const { account } = await get<{ account: object }>(url);
  const open: unknown[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const { positions, pagination } = await get<Positions>(`${url}/positions?status=open&limit=100&page=${page}`);
    open.push(...positions);
    pages = pagination.totalPages;
  }
  return { account, open };
}

async function get<T>(url: string): Promise<T> {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Stores `what` and the sequence in one line, and only then changes the place of the account. */
function keep(account: Account, sequence: number, what: object): void {
  const line = JSON.stringify({ account: keyOf(account), sequence, ...what });
  appendFileSync(JOURNAL, `\n${line}`, { flush: true });
  places.set(keyOf(account), sequence);
}

function readPlaces(): Map<string, number> {
  const read = new Map<string, number>();
  for (const line of existsSync(JOURNAL) ? readFileSync(JOURNAL, "utf8").split("\n") : []) {
    try {
      const { account, sequence } = JSON.parse(line) as { account: string; sequence: number };
      read.set(account, sequence);
    } catch {
      // Empty, or cut off by a crash: such a line stores nothing.
    }
  }
  return read;
}

function accountOf(key: string): Account {
  const [serverId = "", accountNumber = ""] = key.split("/");
  return { serverId, accountNumber };
}
