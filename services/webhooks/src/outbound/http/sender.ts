import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";

import type { Started } from "@kapi/runtime";
import { RequestFilteringHttpAgent, RequestFilteringHttpsAgent } from "request-filtering-agent";

import { REPLY_START_BYTES, type Reply, replyStartOf } from "../../domain/attempt.ts";
import type { OutgoingRequest, Sender } from "../../domain/ports.ts";
import type { Resolve } from "./dns-resolver.ts";
import { type AddressRules, rejectionOf } from "./public-address.ts";
import { connectionLookup } from "./address-guard.ts";

/** The connection is closed when more than this number of bytes of a reply is read. */
const MAX_REPLY_BYTES = 64 * 1_024;
/** Maximum number of idle connections per host. A host may have many endpoints. */
const MAX_IDLE_CONNECTIONS = 256;
/** How long an idle connection is kept, in milliseconds. */
const IDLE_MS = 5_000;
const USER_AGENT = "kapi-webhooks/1";
/** Error codes of a request on an idle connection that the receiver had closed. */
const STALE_CODES = new Set(["ECONNRESET", "EPIPE"]);

/** What the sender of deliveries needs. */
export interface SenderOptions {
  readonly rules: AddressRules;
  readonly resolve: Resolve;
  /**
   * Time limit of an attempt, to the end of the reply, in milliseconds. If the request is repeated,
   * both requests share this time.
   */
  readonly timeoutMs: number;
}

interface Transport {
  readonly http: http.Agent;
  readonly https: https.Agent;
}

/**
 * Sends requests. Unless `allowInsecure` is set, it sends to public addresses only: the URL is
 * checked before each request, and the resolved addresses before each connection, by our own lookup
 * and by request-filtering-agent. Redirects are not followed.
 */
export function startSender({ rules, resolve, timeoutMs }: SenderOptions): Started<Sender> {
  const transport = rules.allowInsecure ? openTransport() : guardedTransport();
  const lookup = connectionLookup(rules, resolve);
  const aborts = new Set<() => void>();
  const send = async (outgoing: OutgoingRequest): Promise<Reply> => {
    const startedMs = performance.now();
    const elapsedMs = (): number => Math.round(performance.now() - startedMs);
    const rejection = rejectionOf(outgoing.url, rules);
    if (rejection !== null) return replyOf(noAnswer(`the address was rejected: ${rejection}`), elapsedMs());
    const once = (): Promise<Answer> =>
      exchange({ transport, lookup, aborts, limitMs: timeoutMs - elapsedMs() }, outgoing);
    let answer = await once();
    // The receiver probably closed the idle connection before it read the request. A repeat is
    // harmless: it has the same `webhook-id`.
    if (answer.stale) answer = await once();
    return replyOf(answer, elapsedMs());
  };
  const abort = (): void => {
    for (const abortOne of aborts) abortOne();
  };
  return {
    value: { send, abort },
    stop: () => {
      transport.http.destroy();
      transport.https.destroy();
      return Promise.resolve();
    },
  };
}

const AGENT_OPTIONS = { keepAlive: true, maxFreeSockets: MAX_IDLE_CONNECTIONS, timeout: IDLE_MS } as const;

function openTransport(): Transport {
  return { http: new http.Agent(AGENT_OPTIONS), https: new https.Agent(AGENT_OPTIONS) };
}

function guardedTransport(): Transport {
  return { http: new RequestFilteringHttpAgent(AGENT_OPTIONS), https: new RequestFilteringHttpsAgent(AGENT_OPTIONS) };
}

interface Answer {
  readonly status: number | null;
  readonly error: string | null;
  readonly body: Buffer;
  readonly retryAfter: string | undefined;
  readonly stale: boolean;
}

const NOTHING = Buffer.alloc(0);

interface ExchangeContext {
  readonly transport: Transport;
  readonly lookup: LookupFunction;
  /** For each running request, the function that aborts it. */
  readonly aborts: Set<() => void>;
  /** Time limit to the end of the reply, in milliseconds. */
  readonly limitMs: number;
}

/** Sends one request and reads its reply. Never rejects. */
function exchange(
  { transport, lookup, aborts, limitMs }: ExchangeContext,
  { url, headers, body }: OutgoingRequest,
): Promise<Answer> {
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
    // `http.request` throws for an invalid header or an unsupported protocol.
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
  const timer = setTimeout(() => end("the receiver did not answer in time"), Math.max(0, limitMs));
  const abort = (): void => end("the delivery was aborted");
  aborts.add(abort);
  request.on("error", (error: NodeJS.ErrnoException) => {
    // The status decides, even if the connection breaks later.
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
    aborts.delete(abort);
  });
}

/** Keeps the start of the body, and reads no more than the limit. */
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
  // With several addresses, each failed address has its own error.
  if (error instanceof AggregateError) return error.errors.map(textOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
