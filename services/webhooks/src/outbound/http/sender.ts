import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";

import type { Started } from "@kapi/runtime";
import { RequestFilteringHttpAgent, RequestFilteringHttpsAgent } from "request-filtering-agent";

import { REPLY_START_BYTES, type Reply, replyStartOf } from "../../domain/attempt.ts";
import type { Outgoing, Sender } from "../../domain/ports.ts";
import type { Resolve } from "./names.ts";
import { type AddressRules, refusalOf } from "./public-address.ts";
import { connectionLookup } from "./resolve.ts";

/** What is read of a reply, in bytes; the connection is cut after that. */
const MAX_REPLY_BYTES = 64 * 1_024;
/** Idle connections to one host, which may have many endpoints. */
const MAX_IDLE_CONNECTIONS = 256;
/** How long a connection is kept idle, in milliseconds. */
const IDLE_MS = 5_000;
const USER_AGENT = "kapi-webhooks/1";
/** Errors of a connection that the other side had closed while it was idle. */
const STALE_CODES = new Set(["ECONNRESET", "EPIPE"]);

export interface SenderOptions {
  readonly rules: AddressRules;
  readonly resolve: Resolve;
  /** Of one request, from its beginning to the end of the reply, in milliseconds. */
  readonly timeoutMs: number;
}

interface Transport {
  readonly http: http.Agent;
  readonly https: https.Agent;
}

/**
 * Sends to receivers, and to public addresses only: what a URL spells is looked at before each
 * request, and what its name resolves to before each connection, by our own lookup and by
 * request-filtering-agent. No redirect is followed.
 */
export function createSender({ rules, resolve, timeoutMs }: SenderOptions): Started<Sender> {
  const transport = rules.allowInsecure ? openTransport() : guardedTransport();
  const lookup = connectionLookup(rules, resolve);
  const ends = new Set<() => void>();
  const send = async (outgoing: Outgoing): Promise<Reply> => {
    const begunMs = performance.now();
    const tookMs = (): number => Math.round(performance.now() - begunMs);
    const refusal = refusalOf(outgoing.url, rules);
    if (refusal !== null) return replyOf(noAnswer(`the address was refused: ${refusal}`), tookMs());
    const once = (): Promise<Answer> => exchange({ transport, lookup, ends, limitMs: timeoutMs - tookMs() }, outgoing);
    let answer = await once();
    // The receiver closed an idle connection at the moment it was used: nobody has seen the
    // request.
    if (answer.stale) answer = await once();
    return replyOf(answer, tookMs());
  };
  const breakOff = (): void => {
    for (const end of ends) end();
  };
  return {
    value: { send, breakOff },
    stop: () => {
      transport.http.destroy();
      transport.https.destroy();
      return Promise.resolve();
    },
  };
}

const KEPT_ALIVE = { keepAlive: true, maxFreeSockets: MAX_IDLE_CONNECTIONS, timeout: IDLE_MS } as const;

function openTransport(): Transport {
  return { http: new http.Agent(KEPT_ALIVE), https: new https.Agent(KEPT_ALIVE) };
}

function guardedTransport(): Transport {
  return { http: new RequestFilteringHttpAgent(KEPT_ALIVE), https: new RequestFilteringHttpsAgent(KEPT_ALIVE) };
}

interface Answer {
  readonly status: number | null;
  readonly error: string | null;
  /** The first bytes of the body. */
  readonly body: Buffer;
  readonly retryAfter: string | undefined;
  readonly stale: boolean;
}

const NOTHING = Buffer.alloc(0);

interface Means {
  readonly transport: Transport;
  readonly lookup: LookupFunction;
  /** What is under way, each by the function that ends it. */
  readonly ends: Set<() => void>;
  /** Milliseconds to the end of the reply. */
  readonly limitMs: number;
}

/** One request and its reply. Never rejects. */
function exchange({ transport, lookup, ends, limitMs }: Means, { url, headers, body }: Outgoing): Promise<Answer> {
  const secure = new URL(url).protocol === "https:";
  let request: ClientRequest;
  try {
    request = (secure ? https : http).request(url, {
      method: "POST",
      agent: secure ? transport.https : transport.http,
      lookup,
      headers: {
        ...headers,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": USER_AGENT,
      },
    });
  } catch (error) {
    // The filter throws for an address that needs no resolving.
    return Promise.resolve(noAnswer(textOf(error)));
  }
  const { promise, resolve } = Promise.withResolvers<Answer>();
  let response: IncomingMessage | null = null;
  let endedEarly = false;
  const end = (reason: string): void => {
    endedEarly = true;
    request.destroy(new Error(reason));
    response?.destroy();
  };
  const timer = setTimeout(() => end("it did not answer in time"), Math.max(0, limitMs));
  const breakOff = (): void => end("the delivery was broken off");
  ends.add(breakOff);
  request.on("error", (error: NodeJS.ErrnoException) => {
    // Once there is a status it decides, whatever becomes of the connection.
    if (response !== null) return;
    const stale = !endedEarly && request.reusedSocket && STALE_CODES.has(error.code ?? "");
    resolve({ ...noAnswer(textOf(error)), stale });
  });
  request.on("response", (given) => {
    response = given;
    readReply(given, resolve);
  });
  request.end(body);
  return promise.finally(() => {
    clearTimeout(timer);
    ends.delete(breakOff);
  });
}

/** Of the body the first part is kept, and no more than the limit is read. */
function readReply(response: IncomingMessage, resolve: (answer: Answer) => void): void {
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let readBytes = 0;
  response.on("data", (chunk: Buffer) => {
    if (keptBytes < REPLY_START_BYTES) {
      const part = Buffer.from(chunk.subarray(0, REPLY_START_BYTES - keptBytes));
      kept.push(part);
      keptBytes += part.length;
    }
    readBytes += chunk.length;
    if (readBytes > MAX_REPLY_BYTES) response.destroy();
  });
  response.on("error", () => undefined);
  response.once("close", () => {
    const { statusCode: status = null, headers } = response;
    resolve({ status, error: null, body: Buffer.concat(kept), retryAfter: headers["retry-after"], stale: false });
  });
}

function noAnswer(error: string): Answer {
  return { status: null, error, body: NOTHING, retryAfter: undefined, stale: false };
}

function replyOf({ status, error, body, retryAfter }: Answer, durationMs: number): Reply {
  return { status, error, durationMs, replyStart: replyStartOf(body), retryAfter };
}

function textOf(error: unknown): string {
  // Of several addresses that were tried each has its own error.
  if (error instanceof AggregateError) return error.errors.map(textOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
