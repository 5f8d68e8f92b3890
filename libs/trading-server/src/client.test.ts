import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { createServer as createSecureServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

import { QuotesQuery } from "@kapi/contracts";
import { BREAKER_FAILURES, MAX_RETRY_MS } from "@kapi/kernel";
import { type CertificateAuthority, createAuthority } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

import { startTradingServerClient, type TradingServerClient, type TradingServerClientOptions } from "./client.ts";
import { ReadBreakers } from "./read-breakers.ts";
import { TradingServerCallNotSent, TradingServerUnreachable } from "./unreachable.ts";

const HANGING = "5a1c3f7e-0a52-4a0e-9f0a-000000000001";
const ANSWERING = "5a1c3f7e-0a52-4a0e-9f0a-000000000002";
const ACCOUNT = "10000001";
const SKIPPED_ACCOUNT = "10000002";
const CONNECTIONS = 4;
const TIMEOUT_MS = 300;
/** For calls that are answered; enough for a slow machine. */
const ANSWERED_TIMEOUT_MS = 10_000;
/** Timers of calls and breakers. A test that replaces them advances them itself. */
const CALL_TIME = ["setTimeout", "clearTimeout", "performance"] as const;
const TLS_TEST_TIMEOUT_MS = 60_000;

/** The answer to reads of quotes. */
let quotesAnswer: { readonly status: number; readonly body: unknown } = { status: 200, body: { quotes: [] } };
/** The body of the answer to settlements. */
let settlementsAnswer = "";
/** Requests to the address of both servers. Those for the hanging server get no answer. */
const requests: { readonly url: string; readonly response: ServerResponse }[] = [];
const tradingServer = createServer((request, response) => {
  const url = request.url ?? "";
  requests.push({ url, response });
  if (!url.includes(ANSWERING)) return;
  if (url.includes("/settlements")) response.end(settlementsAnswer);
  else if (url.includes("/quotes")) response.writeHead(quotesAnswer.status).end(JSON.stringify(quotesAnswer.body));
  else response.end(JSON.stringify({ sequence: 7 }));
});
let baseUrl = "";
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  await once(tradingServer.listen(0, "127.0.0.1"), "listening");
  baseUrl = `http://127.0.0.1:${(tradingServer.address() as AddressInfo).port}`;
});
beforeEach(() => void requests.splice(0));
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  for (const stop of stops) await stop();
  tradingServer.closeAllConnections();
  tradingServer.close();
});

function client(change: Partial<TradingServerClientOptions> = {}): TradingServerClient {
  const started = startTradingServerClient({
    addressOf: () => ({ url: baseUrl, token: "the token of trading servers" }),
    organizationOf: (serverId) => serverId,
    timeoutMs: TIMEOUT_MS,
    connections: CONNECTIONS,
    ...change,
  });
  stops.push(() => started.stop());
  return started.value;
}

it("a hanging server uses at most half of the connections, and after unanswered reads its further reads fail at once", async () => {
  vi.useFakeTimers({ toFake: [...CALL_TIME] });
  const hangingRequests = (): number => requests.filter(({ url }) => url.includes(HANGING)).length;
  const reader = client();
  const reads = Array.from({ length: 3 * CONNECTIONS }, () => reader.eventSequence(HANGING, ACCOUNT));
  const hanging = Promise.allSettled(reads);
  // Meanwhile reads of another organization at the same address succeed.
  expect(await reader.eventSequence(ANSWERING, ACCOUNT)).toBe(7);
  await expect.poll(hangingRequests).toBe(CONNECTIONS / 2);
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
  for (const outcome of await hanging) {
    expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(TradingServerUnreachable) });
  }
  await expect(reader.eventSequence(HANGING, SKIPPED_ACCOUNT)).rejects.toThrow("read skipped");
  expect(await reader.eventSequence(ANSWERING, ACCOUNT)).toBe(7);
  expect(requests.filter(({ url }) => url.includes(SKIPPED_ACCOUNT))).toEqual([]);
});

it("above the share of an organization a read is 429, other calls are not sent, and the breaker stays closed", async () => {
  vi.useFakeTimers({ toFake: [...CALL_TIME] });
  const sender = client();
  const running = Array.from({ length: CONNECTIONS / 2 + 1_000 }, () => sender.eventSequence(HANGING, ACCOUNT));
  const hanging = Promise.allSettled(running);
  await expect.poll(() => requests.length).toBe(CONNECTIONS / 2);
  const reference = "5a1c3f7e-0a52-4a0e-9f0a-000000000003";
  const deletion = { reference, accountNumber: ACCOUNT, type: "delete", closePositions: true } as const;
  for (let n = 0; n < BREAKER_FAILURES; n += 1) {
    const error = { status: 429, code: "TOO_MANY_CONCURRENT_REQUESTS", headers: { "retry-after": "1" } };
    await expect(sender.eventSequence(HANGING, ACCOUNT)).rejects.toMatchObject(error);
    await expect(sender.change(HANGING, [deletion])).rejects.toThrow(TradingServerCallNotSent);
    await expect(sender.settle(HANGING, [reference])).rejects.toThrow("/settlements: not sent, because too many");
  }
  // An open breaker would skip the read.
  await expect(sender.eventSequence(HANGING, ACCOUNT)).rejects.toMatchObject({ status: 429 });
  expect(await sender.eventSequence(ANSWERING, ACCOUNT)).toBe(7);
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
  await hanging;
  expect(requests.filter(({ url }) => /changes|settlements/.test(url))).toEqual([]);
});

it("after a pause one read probes a server that did not answer, and all reads continue as soon as it answers", async () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const breakers = new ReadBreakers({ nowMs: () => nowMs });
  let calls = 0;
  const read = (answer: () => Promise<number>): Promise<number> =>
    breakers.run(HANGING, () => {
      calls += 1;
      return answer();
    });
  const fails = (): Promise<number> => Promise.reject(new TradingServerUnreachable("no answer"));
  for (let n = 0; n < BREAKER_FAILURES; n += 1) await expect(read(fails)).rejects.toThrow("no answer");
  await expect(read(fails)).rejects.toThrow("read skipped");
  nowMs += MAX_RETRY_MS;
  const probe = Promise.withResolvers<number>();
  const probing = read(() => probe.promise);
  await expect(read(fails)).rejects.toThrow("read skipped");
  probe.resolve(1);
  expect(await probing).toBe(1);
  expect(await read(() => Promise.resolve(2))).toBe(2);
  expect(calls).toBe(BREAKER_FAILURES + 2);
});

it("the message of a rejection has neither NUL nor half of a character, so the command can become final", async () => {
  const reference = "5a1c3f7e-0a52-4a0e-9f0a-000000000003";
  const message = String.raw`No money\u0000\u0000 \ud83d`;
  settlementsAnswer = `{"outcomes":[{"reference":"${reference}","status":"refused","code":"INVALID_CHANGE","message":"${message}"}]}`;
  expect(await client().settle(ANSWERING, [reference])).toMatchObject([{ reference, message: "No money \ufffd" }]);
});

describe("a read of quotes", () => {
  const AT = "2026-03-02T12:00:00.500Z";
  const QUOTE = { symbol: "EUR/USD", bid: 1.1, ask: 1.1001, measuredAt: "2026-03-02T12:00:00.500Z" };

  it("asks for the symbols and the time, and returns the quotes", async () => {
    quotesAnswer = { status: 200, body: { quotes: [QUOTE] } };
    expect(await client().quotes(ANSWERING, ["S&P 500", "EUR/USD"], AT)).toEqual([QUOTE]);
    const { pathname, searchParams } = new URL(requests[0]?.url ?? "", baseUrl);
    expect(pathname).toBe(`/v1/servers/${ANSWERING}/quotes`);
    expect(QuotesQuery.parse(Object.fromEntries(searchParams))).toEqual({ symbols: ["S&P 500", "EUR/USD"], at: AT });
  });

  it("is null for a server without quotes; reads of this server continue, because 404 does not count as unanswered", async () => {
    quotesAnswer = { status: 404, body: { error: "Not found", code: "NOT_FOUND" } };
    const reader = client();
    for (let n = 0; n <= BREAKER_FAILURES; n += 1) expect(await reader.quotes(ANSWERING, ["EURUSD"], AT)).toBeNull();
    expect(await reader.eventSequence(ANSWERING, ACCOUNT)).toBe(7);
  });

  it.each([
    ["of a symbol that was not requested", [{ ...QUOTE, symbol: "XAUUSD" }]],
    ["of which two have the same symbol", [QUOTE, QUOTE]],
    ["measured after the requested time", [{ ...QUOTE, measuredAt: "2026-03-02T12:00:00.501Z" }]],
    ["without a price", [{ ...QUOTE, ask: null }]],
  ])("rejects quotes %s", async (_what, quotes) => {
    quotesAnswer = { status: 200, body: { quotes } };
    await expect(client().quotes(ANSWERING, ["EUR/USD"], AT)).rejects.toThrow(TradingServerUnreachable);
  });
});

it(
  "the client accepts https certificates of an authority that Node trusts or that is configured, and no others",
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-trading-server-"));
    const [named, known, unknown] = [
      await createAuthority(folder, "named"),
      await createAuthority(folder, "known"),
      await createAuthority(folder, "unknown"),
    ];
    const serverOf = async (authority: CertificateAuthority): Promise<Server> => {
      const { certificate: cert, key } = await authority.issue("localhost");
      const server = createSecureServer({ cert, key }, (_request, response) => {
        response.end(JSON.stringify({ sequence: 7 }));
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      return server;
    };
    const [ofPrivate, ofPublic] = [await serverOf(named), await serverOf(known)];
    const before = getCACertificates("default");
    setDefaultCACertificates([...before, known.certificate]);
    const ask = (server: Server, ca?: string): Promise<number | null> => {
      const url = `https://localhost:${(server.address() as AddressInfo).port}`;
      const addressOf = () => ({ url, token: "the token of trading servers" });
      return client({ addressOf, timeoutMs: ANSWERED_TIMEOUT_MS, ca }).eventSequence(ANSWERING, ACCOUNT);
    };
    try {
      expect(await ask(ofPrivate, named.certificate)).toBe(7);
      expect(await ask(ofPublic, named.certificate)).toBe(7);
      expect(await ask(ofPublic)).toBe(7);
      await expect(ask(ofPrivate)).rejects.toThrow(TradingServerUnreachable);
      await expect(ask(ofPrivate, unknown.certificate)).rejects.toThrow("certificate");
    } finally {
      setDefaultCACertificates(before);
      for (const server of [ofPrivate, ofPublic]) {
        server.closeAllConnections();
        server.close();
      }
      rmSync(folder, { recursive: true });
    }
  },
  TLS_TEST_TIMEOUT_MS,
);
