import { once } from "node:events";
import { request } from "node:http";

import { createLogger, Health, startRequestSpan, startSpan } from "@kapi/runtime";
import { type KeptSpan, recordSpans, type SpanRecorder } from "@kapi/testkit/spans";
import { afterEach, describe, expect, it } from "vitest";

import { startInternalClient, type InternalResponse } from "./internal-client.ts";
import { startListening } from "./listen.ts";
import { serviceCredentials } from "./service-callers.ts";
import { createHttpServer } from "./server.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

let recorder: SpanRecorder | null = null;
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
  recorder?.stop();
  recorder = null;
});

/**
 * A server whose handler starts the span `work`, and returns the `traceparent` of the request.
 */
async function serve(
  sampled = true,
  callers: "services" | "world" = "services",
): Promise<{ url: string; spans: readonly KeptSpan[]; arrived: Promise<unknown> }> {
  recorder = recordSpans(sampled);
  const logger = createLogger({ service: "test", level: "silent" });
  const app = createHttpServer({ logger, health: new Health(), callers });
  app.post("/work/:id", { config: { operation: "doWork" } }, (request) => {
    startSpan("work", { role: "internal" })?.end();
    return { given: request.headers["traceparent"] ?? null };
  });
  const { value, stop } = await startListening(app, { host: "127.0.0.1", port: 0 });
  stops.push(stop);
  return { url: value.url, spans: recorder.spans, arrived: once(app.server, "request") };
}

describe("the trace of a request", () => {
  it("includes the spans of the handler, also if the body arrives long after the head", async () => {
    const { url, spans, arrived } = await serve();
    const headers = { "content-type": "application/json", traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` };
    const call = request(`${url}/work/7`, { method: "POST", headers });
    const answered = once(call, "response");
    call.flushHeaders();
    await arrived;
    call.end('{"later":true}');
    await answered;
    const [server, work] = spans;
    expect(server).toMatchObject({ name: "POST /work/:id", traceId: TRACE_ID, parentId: SPAN_ID });
    expect(server?.attributes).toMatchObject({ "kapi.operation": "doWork", "http.request.method": "POST" });
    expect(work).toMatchObject({ name: "work", parentId: server?.spanId });
  });

  it("is sampled independently of a caller from outside; a recorded request is a child of the caller's span", async () => {
    const recorded = await serve(true, "world");
    const traceparent = (flags: string): string => `00-${TRACE_ID}-${SPAN_ID}-${flags}`;
    await fetch(`${recorded.url}/work/1`, { method: "POST", headers: { traceparent: traceparent("00") } });
    const token = { "x-service-token": "a guess" };
    await fetch(`${recorded.url}/work/1`, { method: "POST", headers: token });
    const named = recorded.spans.filter(({ name }) => name === "POST /work/:id");
    expect(named).toMatchObject([{ traceId: TRACE_ID, parentId: SPAN_ID }, {}]);
    recorder?.stop();
    const unrecorded = await serve(false, "world");
    await fetch(`${unrecorded.url}/work/1`, { method: "POST", headers: { traceparent: traceparent("01"), ...token } });
    expect(unrecorded.spans).toEqual([]);
  });

  it("is not started by a probe", async () => {
    const { url, spans } = await serve();
    await fetch(`${url}/livez`);
    expect(spans).toEqual([]);
  });
});

describe("a call to another service", () => {
  /** Calls within a request of this process; returns what the other side received. */
  async function call(url: string): Promise<unknown> {
    const { value: client, stop } = startInternalClient({
      baseUrl: url,
      credentials: serviceCredentials({ SERVICE_TOKEN: "t" }),
      timeoutMs: 2_000,
    });
    stops.push(stop);
    const inside = startRequestSpan("GET /", undefined, "r-1");
    const ask = (): Promise<InternalResponse> => client.request("POST", "/work/1?search=words");
    const { body } = await (inside === null ? ask() : inside.run(ask));
    return JSON.parse(body.toString());
  }

  it("is a child span of its caller, and the parent of the other side's span", async () => {
    const { url, spans } = await serve();
    await call(url);
    const [outer, client, server] = spans;
    expect(client).toMatchObject({ name: "POST", parentId: outer?.spanId, ended: true });
    expect(client?.attributes).toMatchObject({ "url.path": "/work/1", "http.response.status_code": 200 });
    expect(server).toMatchObject({ name: "POST /work/:id", traceId: outer?.traceId, parentId: client?.spanId });
    // The same request id, so the log lines of both processes have it.
    expect(server?.attributes).toMatchObject({ "kapi.request.id": "r-1" });
  });

  it("is not recorded by the other service if the caller records nothing", async () => {
    const { url, spans } = await serve(false);
    expect(await call(url)).toEqual({ given: null });
    expect(spans).toEqual([]);
  });

  it("starts no trace in the other service if the caller has none; a request of an API client starts a trace", async () => {
    const { url, spans } = await serve();
    const { value: client, stop } = startInternalClient({
      baseUrl: url,
      credentials: serviceCredentials({ SERVICE_TOKEN: "t" }),
      timeoutMs: 2_000,
    });
    stops.push(stop);
    await client.request("POST", "/work/1");
    expect(spans).toEqual([]);
    await fetch(`${url}/work/1`, { method: "POST" });
    expect(spans).toMatchObject([{ name: "POST /work/:id" }, { name: "work" }]);
  });
});
