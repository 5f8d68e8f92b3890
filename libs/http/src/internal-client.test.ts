import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Readable } from "node:stream";

import { createLogger, Health } from "@kapi/runtime";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";

import { DependencyError } from "./dependency-error.ts";
import { requireInternalToken, tokenCredentials } from "./internal-auth.ts";
import { startInternalClient, type InternalClient, type InternalClientOptions } from "./internal-client.ts";
import { startListening } from "./listen.ts";
import { createHttpServer } from "./server.ts";

const TOKEN = "the internal token";
const LONG_MS = 5_000;
const SHORT_MS = 300;

const server = createHttpServer({ logger: createLogger({ service: "test", level: "silent" }), health: new Health() });
const seen = {
  slow: 0,
  connections: 0,
  streamClosed: Promise.withResolvers<void>(),
  silentAsked: Promise.withResolvers<void>(),
  silentClosed: Promise.withResolvers<void>(),
};
const stops: (() => Promise<void>)[] = [];
let url = "";

function client(options: Partial<InternalClientOptions> = {}): InternalClient {
  const started = startInternalClient({
    baseUrl: url,
    credentials: tokenCredentials(TOKEN),
    timeoutMs: LONG_MS,
    ...options,
  });
  stops.unshift(() => started.stop());
  return started.value;
}

beforeAll(async () => {
  requireInternalToken(server, TOKEN);
  server.get("/internal/number", () => ({ number: 7 }));
  server.post("/internal/echo", (request) => ({ got: request.body, type: request.headers["content-type"] }));
  server.get("/internal/missing", (_request, reply) => reply.code(404).send({ error: "Not found" }));
  server.get("/internal/broken", () => {
    throw new Error("broken");
  });
  server.get("/internal/silent", (_request, reply) => {
    seen.slow += 1;
    seen.silentAsked.resolve();
    reply.raw.once("close", () => seen.silentClosed.resolve());
    return Promise.withResolvers<never>().promise;
  });
  server.get("/internal/halves", (_request, reply) => {
    const half = new Readable({ read: () => undefined });
    half.push('{"number":');
    half.once("close", () => seen.streamClosed.resolve());
    return reply.header("content-type", "application/json").send(half);
  });
  server.get("/internal/pieces", (_request, reply) => reply.send(Readable.from(["a", "b", "c"])));
  server.server.on("connection", () => (seen.connections += 1));
  const started = await startListening(server, { host: "127.0.0.1", port: 0, drainTimeoutMs: 0 });
  ({ url } = started.value);
  stops.push(() => started.stop());
});
afterAll(async () => {
  for (const stop of stops) await stop();
});

describe("a call to another service", () => {
  it("returns the status and the unchanged bytes, and does not reject a 404", async () => {
    const { status, headers, body } = await client().request("GET", "/internal/number");
    expect({ status, type: headers["content-type"], text: body.toString() }).toEqual({
      status: 200,
      type: "application/json; charset=utf-8",
      text: '{"number":7}',
    });
    expect((await client().request("GET", "/internal/missing")).status).toBe(404);
  });

  it("sends a Buffer unchanged and any other body as JSON", async () => {
    const expected = { got: { a: [1] }, type: "application/json" };
    for (const body of [Buffer.from('{ "a": [1] }'), { a: [1] }]) {
      const response = await client().request("POST", "/internal/echo", body);
      expect(JSON.parse(response.body.toString())).toEqual(expected);
    }
  });

  it("prefixes every path with the path of the base address", async () => {
    const { status } = await client({ baseUrl: `${url}/internal/` }).request("GET", "/number");
    expect(status).toBe(200);
  });

  it("parses the response by the schema, and fails if the response does not match or is 404", async () => {
    const Good = z.object({ number: z.number() });
    expect(await client().json("GET", "/internal/number", undefined, Good)).toEqual({ number: 7 });
    const Other = z.object({ text: z.string() });
    await expect(client().json("GET", "/internal/number", undefined, Other)).rejects.toThrow(
      "does not match the schema",
    );
    await expect(client().json("GET", "/internal/missing", undefined, Good)).rejects.toThrow("answered 404");
  });

  it.each([
    ["fails", "/internal/broken", {}, "answered 500"],
    [
      "does not know this client's token",
      "/internal/number",
      { credentials: tokenCredentials("another") },
      "answered 401",
    ],
    ["cannot be reached", "/", { baseUrl: "http://127.0.0.1:1" }, "ECONNREFUSED"],
    ["does not answer in time", "/internal/silent", { timeoutMs: SHORT_MS }, `no answer within ${SHORT_MS} ms`],
    ["stops in the middle", "/internal/halves", { timeoutMs: SHORT_MS }, `no answer within ${SHORT_MS} ms`],
  ])("fails with a DependencyError if the other side %s", async (_what, path, options, message) => {
    const call = client(options).request("GET", path);
    await expect(call).rejects.toThrow(message);
    await expect(call).rejects.toBeInstanceOf(DependencyError);
  });

  it("is never sent if its deadline passes before a connection is free", async () => {
    const before = { ...seen };
    const narrow = client({ connections: 1 });
    const calls = [SHORT_MS, SHORT_MS / 2, SHORT_MS / 3].map((timeoutMs) =>
      narrow.request("GET", "/internal/silent", undefined, { timeoutMs }),
    );
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(["rejected", "rejected", "rejected"]);
    expect((await narrow.request("GET", "/internal/number", undefined, { timeoutMs: LONG_MS })).status).toBe(200);
    expect(seen.slow - before.slow).toBe(1);
    // The connection of the first call was closed to cancel the call. The next two calls expired
    // without a connection, and the last call opened another one.
    expect(seen.connections - before.connections).toBe(2);
  });

  it("fails at once if the maximum number of calls is waiting", async () => {
    const narrow = client({ connections: 1, maxWaitingCalls: 1, timeoutMs: SHORT_MS });
    const calls = [1, 2, 3].map(() => narrow.request("GET", "/internal/silent"));
    const [first, second, third] = await Promise.allSettled(calls);
    expect([first, second].map((outcome) => String(outcome && "reason" in outcome && outcome.reason))).toEqual([
      expect.stringContaining("no answer within"),
      expect.stringContaining("no answer within"),
    ]);
    expect(third).toMatchObject({ reason: { message: expect.stringContaining("1 calls are waiting already") } });
  });

  it("can wait after earlier calls have expired: expired calls no longer count as waiting", async () => {
    const narrow = client({ connections: 1, maxWaitingCalls: 2 });
    const ended = new AbortController();
    const running = narrow.request("GET", "/internal/silent", undefined, { signal: ended.signal });
    const expired = [1, 2].map(() =>
      narrow.request("GET", "/internal/number", undefined, { organizationId: "one", timeoutMs: SHORT_MS }),
    );
    for (const call of expired) await expect(call).rejects.toThrow(`no answer within ${SHORT_MS} ms`);
    const waiting = narrow.request("GET", "/internal/number", undefined, { organizationId: "another" });
    ended.abort();
    await expect(running).rejects.toBeInstanceOf(DependencyError);
    expect((await waiting).status).toBe(200);
  });

  it("above the share of its organization is 429, while calls of other organizations succeed", async () => {
    const before = seen.slow;
    const shared = client({ connections: 3, organizationShare: { connections: 2, waitingCalls: 1 } });
    const ended = new AbortController();
    const calls = Array.from({ length: 4 }, () =>
      shared.request("GET", "/internal/silent", undefined, { organizationId: "one", signal: ended.signal }),
    );
    await expect(calls[3]).rejects.toMatchObject({ code: "TOO_MANY_CONCURRENT_REQUESTS", status: 429 });
    for (const options of [{ organizationId: "another" }, {}]) {
      expect((await shared.request("GET", "/internal/number", undefined, options)).status).toBe(200);
    }
    await vi.waitUntil(() => seen.slow - before === 2);
    ended.abort();
    for (const call of calls.slice(0, 3)) await expect(call).rejects.toBeInstanceOf(DependencyError);
    const after = { organizationId: "one" };
    expect((await shared.request("GET", "/internal/number", undefined, after)).status).toBe(200);
    expect(seen.slow - before).toBe(2);
  });

  it("takes turns with the calls of other organizations", async () => {
    const shared = client({ connections: 1 });
    const order: string[] = [];
    const call = async (organizationId: string, name: string): Promise<void> => {
      await shared.request("GET", "/internal/number", undefined, { organizationId });
      order.push(name);
    };
    const calls = ["a1", "a2", "a3", "b1", "b2", "c1"].map((name) => call(name.charAt(0), name));
    await Promise.all(calls);
    expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
  });

  it("succeeds among 200 concurrent calls on 4 connections", async () => {
    const narrow = client({ connections: 4 });
    const responses = await Promise.all(Array.from({ length: 200 }, () => narrow.request("GET", "/internal/number")));
    expect(responses.every(({ status }) => status === 200)).toBe(true);
  });
});

describe("a call whose connection is lost", () => {
  /**
   * A service that closes the connection of each of the first `connections` requests after
   * `afterMs`, and answers every later request.
   */
  async function closing(
    connections: number,
    afterMs = 0,
  ): Promise<{ readonly url: string; readonly requests: () => number }> {
    let requests = 0;
    const tcp = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        requests += 1;
        if (requests <= connections) setTimeout(() => socket.destroy(), afterMs);
        else socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
      });
    }).listen(0, "127.0.0.1");
    await once(tcp, "listening");
    stops.push(async () => {
      tcp.close();
      await once(tcp, "close");
    });
    const { port } = tcp.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}`, requests: () => requests };
  }

  it.each([
    ["a GET", "GET", {}],
    ["a repeatable call", "POST", { repeatable: true }],
  ])("is sent again if it is %s", async (_what, method, options) => {
    const service = await closing(2);
    const { status } = await client({ baseUrl: service.url }).request(method, "/", undefined, options);
    expect(status).toBe(200);
    expect(service.requests()).toBe(3);
  });

  it("is sent at most three times", async () => {
    const service = await closing(3);
    await expect(client({ baseUrl: service.url }).request("GET", "/")).rejects.toBeInstanceOf(DependencyError);
    expect(service.requests()).toBe(3);
  });

  it("is not sent again if it is not repeatable", async () => {
    const service = await closing(1);
    await expect(client({ baseUrl: service.url }).request("POST", "/", {})).rejects.toBeInstanceOf(DependencyError);
    expect(service.requests()).toBe(1);
  });

  it("is sent again if it is a stream", async () => {
    const service = await closing(1);
    const { body } = await client({ baseUrl: service.url }).stream("GET", "/");
    expect(Buffer.concat(await body.toArray()).toString()).toBe("{}");
  });

  it.each(["request", "stream"] as const)("has one deadline for all its attempts, as a %s", async (kind) => {
    // Each connection is lost when a little more than half of the deadline is over.
    const service = await closing(Number.POSITIVE_INFINITY, SHORT_MS * 0.6);
    const hasty = client({ baseUrl: service.url, timeoutMs: SHORT_MS });
    await expect(hasty[kind]("GET", "/")).rejects.toThrow("no answer within");
    expect(service.requests()).toBe(2);
  });
});

describe("an aborted call", () => {
  it("fails, and ends at the other side too; the next call succeeds", async () => {
    seen.silentAsked = Promise.withResolvers();
    seen.silentClosed = Promise.withResolvers();
    const one = client({ connections: 1, maxWaitingCalls: 1 });
    const gone = new AbortController();
    const waiting = one.request("GET", "/internal/silent", undefined, { signal: gone.signal });
    const failed = expect(waiting).rejects.toBeInstanceOf(DependencyError);
    await seen.silentAsked.promise;
    gone.abort();
    await failed;
    await seen.silentClosed.promise;
    expect((await one.request("GET", "/internal/number")).status).toBe(200);
  });

  it("is not sent if the signal was aborted before", async () => {
    const before = seen.slow;
    const signal = AbortSignal.abort();
    await expect(client().request("GET", "/internal/silent", undefined, { signal })).rejects.toThrow(
      "aborted the call",
    );
    expect(seen.slow).toBe(before);
  });
});

describe("a stream from another service", () => {
  it("has a connection of its own: slow readers do not delay other streams", async () => {
    const upstream = client();
    const slow = Array.from({ length: 40 }, () => upstream.stream("GET", "/internal/halves"));
    const bodies = (await Promise.all(slow)).map(({ body }) => body);
    expect((await upstream.stream("GET", "/internal/pieces")).status).toBe(200);
    for (const body of bodies) body.destroy();
  });

  it("returns the chunks of the response", async () => {
    const { status, body } = await client().stream("GET", "/internal/pieces");
    expect(status).toBe(200);
    expect(Buffer.concat(await body.toArray()).toString()).toBe("abc");
  });

  it("ends at the other side when the reader disconnects", async () => {
    seen.streamClosed = Promise.withResolvers();
    const { body } = await client().stream("GET", "/internal/halves");
    await once(body, "readable");
    body.destroy();
    await seen.streamClosed.promise;
  });

  it("ends at the other side when the client of a proxied stream disconnects", async () => {
    seen.streamClosed = Promise.withResolvers();
    const upstream = client();
    const gateway = createHttpServer({ logger: createLogger({ service: "t", level: "silent" }), health: new Health() });
    gateway.get("/halves", async (_request, reply) => {
      const { body } = await upstream.stream("GET", "/internal/halves");
      return reply.header("content-type", "application/json").send(body);
    });
    const started = await startListening(gateway, { host: "127.0.0.1", port: 0 });
    const abort = new AbortController();
    const response = await fetch(`${started.value.url}/halves`, { signal: abort.signal });
    expect(response.status).toBe(200);
    abort.abort();
    await seen.streamClosed.promise;
    await started.stop();
  });

  it("fails if the head, or a chunk, does not arrive within the deadline", async () => {
    const hasty = client({ timeoutMs: SHORT_MS });
    await expect(hasty.stream("GET", "/internal/silent")).rejects.toThrow(`no answer within ${SHORT_MS} ms`);
    const { body } = await hasty.stream("GET", "/internal/halves");
    await expect(body.toArray()).rejects.toThrow("Timeout");
  });

  it("fails with a DependencyError if the other side fails", async () => {
    await expect(client().stream("GET", "/internal/broken")).rejects.toBeInstanceOf(DependencyError);
    await expect(client({ baseUrl: "http://127.0.0.1:1" }).stream("GET", "/")).rejects.toThrow("ECONNREFUSED");
  });
});
