import { type IncomingMessage, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";

import { ERRORS } from "@kapi/contracts";
import { createLogger, Health } from "@kapi/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { ApiError } from "./api-error.ts";
import { DependencyError } from "./dependency-error.ts";
import { requireInternalToken } from "./internal-auth.ts";
import { startListening } from "./listen.ts";
import { parse } from "./parse.ts";
import { createHttpServer } from "./server.ts";
import { sendStream, STREAM_IDLE_TIMEOUT_MS } from "./stream-answer.ts";

const JSON_HEADERS = { "content-type": "application/json" };
const BYTES = Buffer.from('{"balance":10.50,"spaces":  "kept"}');

const health = new Health();
const logLines: string[] = [];
const destination = { write: (line: string) => void logLines.push(line) };
const server = createHttpServer({ logger: createLogger({ service: "test", level: "info", destination }), health });
let url = "";
let stop = (): Promise<void> => Promise.resolve();

beforeAll(async () => {
  requireInternalToken(server, "the internal token");
  server.get("/bytes", (_request, reply) => reply.header("content-type", "application/json").send(BYTES));
  server.get("/stream", (_request, reply) =>
    reply.header("content-type", "application/json").send(Readable.from([BYTES.subarray(0, 5), BYTES.subarray(5)])),
  );
  server.get("/idle-timeout/stream", ({ raw }, reply) => sendStream(reply, Readable.from(idleTimeoutOf(raw))));
  server.get("/idle-timeout/whole", ({ raw }) => [...idleTimeoutOf(raw)]);
  server.get("/items/:name", (request) => request.params);
  server.post("/echo", (request, reply) => reply.send({ body: request.body ?? null, id: request.id }));
  server.post("/shape", (request) => parse(z.object({ name: z.string() }), request.body));
  server.delete("/item", (_request, reply) => reply.send({ deleted: true }));
  server.get("/refused", () => {
    throw new ApiError("RATE_LIMITED", { headers: { "retry-after": "7" } });
  });
  server.get("/unknown-error", () => {
    throw new Error("the secret of the database", { cause: new Error("the pool is empty") });
  });
  server.get("/dependency", () => {
    throw new DependencyError("account: connection refused");
  });
  server.get("/internal/thing", () => ({ inside: true }));
  const started = await startListening(server, { host: "127.0.0.1", port: 0 });
  ({ url } = started.value);
  stop = () => started.stop();
});
afterAll(() => stop());

/** The idle timeout of the request's connection while the response is sent. */
function* idleTimeoutOf({ socket }: IncomingMessage): Generator<string> {
  yield JSON.stringify(socket.timeout);
}

describe("a request that takes too long to arrive", () => {
  const ARRIVAL_TIMEOUT_MS = 2_000;
  /** Additional time on a busy machine, in milliseconds. */
  const SLACK_MS = 1_500;

  it.each([
    ["the head", "POST /echo HTTP/1.1\r\nhost: kapi\r\nx-slow: "],
    ["the body", "POST /echo HTTP/1.1\r\nhost: kapi\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n"],
  ])("gets 500 at its deadline, and its connection is closed, if %s arrives byte by byte", async (_part, beginning) => {
    const logger = createLogger({ service: "test", level: "silent" });
    const slow = createHttpServer({ logger, health: new Health(), arrivalTimeoutMs: ARRIVAL_TIMEOUT_MS });
    slow.post("/echo", () => ({}));
    const { value, stop: stopSlow } = await startListening(slow, { host: "127.0.0.1", port: 0 });
    const startedMs = performance.now();
    const socket = connect(value.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => (answer += chunk.toString()));
    socket.on("error", () => undefined);
    socket.write(beginning);
    const drip = setInterval(() => socket.write("a"), 100);
    await new Promise((resolve) => socket.once("close", resolve));
    clearInterval(drip);
    expect(performance.now() - startedMs).toBeLessThan(ARRIVAL_TIMEOUT_MS + SLACK_MS);
    expect(answer).toMatch(/^HTTP\/1.1 500 .*retry-after: 1/is);
    await stopSlow();
  });
});

interface Answer {
  readonly status: number;
  readonly code: string | null;
  readonly headers: Headers;
  readonly body: unknown;
}

async function ask(path: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url + path, init);
  const body: unknown = await response.json();
  return { status: response.status, code: response.headers.get("x-error-code"), headers: response.headers, body };
}

const post = (path: string, body: string | Buffer, headers: Record<string, string> = JSON_HEADERS): Promise<Answer> =>
  ask(path, { method: "POST", body: typeof body === "string" ? body : new Uint8Array(body), headers });

describe("errors", () => {
  it("have the status and text of the table of errors, the code and the request id", async () => {
    const answer = await ask("/refused");
    expect(answer).toMatchObject({ status: 429, code: "RATE_LIMITED", body: { error: "Rate limit exceeded" } });
    expect(answer.body).toEqual({
      error: expect.any(String) as string,
      code: "RATE_LIMITED",
      requestId: answer.headers.get("x-request-id"),
    });
    expect(answer.headers.get("retry-after")).toBe("7");
    expect(answer.headers.get("content-type")).toContain("application/json");
  });

  it("of an unknown kind are hidden from the caller and logged", async () => {
    const answer = await ask("/unknown-error");
    expect(answer).toMatchObject({ status: 500, code: "INTERNAL", body: { error: "Internal server error" } });
    expect(JSON.stringify(answer.body)).not.toContain("secret");
    const line = logLines.find((text) => text.includes("the secret of the database")) ?? "";
    expect(line).toContain("the pool is empty");
    expect(line).toContain(answer.headers.get("x-request-id"));
  });

  it("of a dependency have Retry-After", async () => {
    const answer = await ask("/dependency");
    expect(answer).toMatchObject({
      status: 500,
      code: "DEPENDENCY_UNAVAILABLE",
      body: { error: "Internal server error" },
    });
    expect(answer.headers.get("retry-after")).toBe("1");
  });

  it.each(["/nowhere", "/items", "/%zz", "/bytes/"])(
    "are 404, in the form of all errors, at the unknown route %s",
    async (path) => {
      expect(await ask(path)).toMatchObject({ status: 404, code: "NOT_FOUND", body: { error: "Not found" } });
    },
  );

  it("are 404, not 400, at an unknown route with a malformed body", async () => {
    expect((await post("/nowhere", "{")).status).toBe(404);
  });
});

describe("X-Request-Id", () => {
  it("is the caller's value if that value is valid, on errors too", async () => {
    for (const path of ["/bytes", "/nowhere", "/refused", "/%zz"]) {
      const response = await fetch(url + path, { headers: { "x-request-id": "order-17/b" } });
      expect(response.headers.get("x-request-id")).toBe("order-17/b");
    }
  });

  it.each(["has space", "x".repeat(201), "caf\u00e9", ""])("is replaced if it is %j", async (given) => {
    const response = await fetch(`${url}/bytes`, { headers: { "x-request-id": given } });
    expect(response.headers.get("x-request-id")).toMatch(/^[a-z0-9]+-[a-z2-7]{16}-[a-z0-9]+$/);
  });

  it("is unique, and the handler has it", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post("/echo", "{}")));
    const ids = answers.map((answer) => answer.headers.get("x-request-id"));
    expect(new Set(ids).size).toBe(50);
    expect(answers.map((answer) => (answer.body as { id: string }).id)).toEqual(ids);
  });
});

describe("request bodies", () => {
  it.each([
    ["malformed JSON", "{", JSON_HEADERS, "INVALID_JSON"],
    ["malformed UTF-8", Buffer.from([0x22, 0xff, 0x22]), JSON_HEADERS, "INVALID_JSON"],
    [
      "another content type",
      "a=1",
      { "content-type": "application/x-www-form-urlencoded" },
      "UNSUPPORTED_CONTENT_TYPE",
    ],
    ["a malformed content type", "{}", { "content-type": "json" }, "UNSUPPORTED_CONTENT_TYPE"],
    ["a body over 1 MiB", `"${"x".repeat(1_048_575)}"`, JSON_HEADERS, "BODY_TOO_LARGE"],
    ["a body far over 1 MiB", `"${"x".repeat(20_000_000)}"`, JSON_HEADERS, "BODY_TOO_LARGE"],
  ] as const)("are 400 for %s", async (_what, body, headers, code) => {
    const answer = await post("/echo", body, headers);
    expect(answer).toMatchObject({ status: 400, code, body: { error: ERRORS[code].text } });
  });

  it("are accepted up to exactly 1 MiB, and with any letter case of the content type", async () => {
    const text = `"${"x".repeat(1_048_574)}"`;
    const answer = await post("/echo", text, { "content-type": "Application/JSON; charset=utf-8" });
    expect(answer.status).toBe(200);
  });

  it("are cut off if they never end", async () => {
    await endlessUpload();
    expect((await ask("/livez")).status).toBe(200);
  });

  it("may be nested 10,000 deep", async () => {
    const deep = "[".repeat(10_000) + "]".repeat(10_000);
    expect((await post("/shape", deep)).status).toBe(400);
    expect((await post("/shape", `{"name":"n","extra":${deep}}`)).body).toEqual({ name: "n" });
  });

  it("cannot change prototypes", async () => {
    const answer = await post("/echo", '{"a":1,"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}');
    expect(answer.body).toMatchObject({ body: { a: 1 } });
    expect(JSON.stringify(answer.body)).not.toContain("admin");
  });

  it("may be missing at GET and DELETE, even with a JSON content type", async () => {
    expect((await ask("/bytes", { headers: JSON_HEADERS })).status).toBe(200);
    expect(await ask("/item", { method: "DELETE", headers: JSON_HEADERS })).toMatchObject({ body: { deleted: true } });
  });

  it("that are missing are rejected by the schema, with issues", async () => {
    const answer = await post("/shape", "");
    expect(answer).toMatchObject({
      status: 400,
      code: "VALIDATION_FAILED",
      body: { issues: [{ code: "invalid_type" }] },
    });
  });
});

describe("a server with bodyErrors: when-parsed", () => {
  it("rejects a malformed body only when the handler parses it", async () => {
    const logger = createLogger({ service: "test", level: "silent" });
    const app = createHttpServer({ logger, health: new Health(), bodyErrors: "when-parsed" });
    app.post("/guarded", (request) => {
      if (request.headers.authorization === undefined) throw new ApiError("AUTHENTICATION_REQUIRED");
      return parse(z.object({}), request.body);
    });
    const started = await startListening(app, { host: "127.0.0.1", port: 0 });
    const send = async (headers: Record<string, string>): Promise<string | null> => {
      const response = await fetch(`${started.value.url}/guarded`, { method: "POST", body: "{", headers });
      return response.headers.get("x-error-code");
    };
    expect(await send(JSON_HEADERS)).toBe("AUTHENTICATION_REQUIRED");
    expect(await send({ ...JSON_HEADERS, authorization: "Management k" })).toBe("INVALID_JSON");
    expect(await send({ "content-type": "nonsense" })).toBe("AUTHENTICATION_REQUIRED");
    expect(await send({ "content-type": "nonsense", authorization: "Management k" })).toBe("UNSUPPORTED_CONTENT_TYPE");
    await started.stop();
  });
});

describe("responses", () => {
  it("pass bytes on unchanged, as a Buffer or as a stream", async () => {
    for (const path of ["/bytes", "/stream"]) {
      const response = await fetch(url + path);
      expect(response.headers.get("content-type")).toContain("application/json");
      expect(Buffer.from(await response.arrayBuffer()).equals(BYTES)).toBe(true);
    }
  });

  it("that sendStream sends have an idle timeout above the gateway's deadline; other responses have a shorter one", async () => {
    expect((await ask("/idle-timeout/stream")).body).toBe(STREAM_IDLE_TIMEOUT_MS);
    expect(STREAM_IDLE_TIMEOUT_MS).toBeGreaterThan(120_000);
    expect((await ask("/idle-timeout/whole")).body).toEqual(["60000"]);
  });

  it("to a request with a long path parameter come from the handler, whose schema can reject the parameter", async () => {
    const name = "x".repeat(4_000);
    expect((await ask(`/items/${name}`)).body).toEqual({ name });
  });

  it("to malformed HTTP are 400, in the form of all errors", async () => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.end("NONSENSE\r\n\r\n");
    const chunks: Buffer[] = await socket.toArray();
    const [head = "", body = ""] = Buffer.concat(chunks).toString().split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 400 .*\r\n[^]*x-error-code: VALIDATION_FAILED/);
    expect(JSON.parse(body)).toEqual({
      error: "The request is not valid HTTP",
      code: "VALIDATION_FAILED",
      requestId: expect.stringMatching(/.+/) as string,
    });
  });
});

describe("internal routes", () => {
  it("require the internal token, with any encoding of the path", async () => {
    const withToken = { headers: { "x-internal-token": "the internal token" } };
    expect((await ask("/internal/thing", withToken)).body).toEqual({ inside: true });
    for (const path of ["/internal/thing", "/%69nternal/thing", "/internal/%74hing", "/internal/thing?x=1"]) {
      expect(await ask(path)).toMatchObject({ status: 401, code: "AUTHENTICATION_REQUIRED" });
      expect(await ask(path, { headers: { "x-internal-token": "another" } })).toMatchObject({ status: 401 });
    }
    expect((await ask("/bytes")).status).toBe(200);
  });
});

describe("the readiness probe", () => {
  it("is 503 and names each failed check, while the liveness probe stays 200", async () => {
    expect(await ask("/livez")).toMatchObject({ status: 200, body: { status: "ok" } });
    expect(await ask("/readyz")).toMatchObject({ status: 200, body: { status: "ok" } });
    health.readiness("kafka", () => "no connection");
    expect(await ask("/readyz")).toMatchObject({
      status: 503,
      body: { status: "not ok", reasons: { kafka: "no connection" } },
    });
    expect((await ask("/livez")).status).toBe(200);
    health.readiness("kafka", () => null);
  });
});

/**
 * Uploads chunks without a length until the server responds or closes the connection. The response
 * may be lost.
 */
async function endlessUpload(): Promise<void> {
  const upload = httpRequest(`${url}/echo`, { method: "POST", headers: JSON_HEADERS });
  const piece = Buffer.alloc(1_048_576, " ");
  const push = (): void => {
    upload.write(piece, () => {
      if (!upload.destroyed) push();
    });
  };
  upload.on("error", () => upload.destroy()).on("response", () => upload.destroy());
  // `once` of node:events rejects at an error, and the server may close the connection during a
  // write.
  const closed = new Promise((resolve) => upload.once("close", resolve));
  push();
  await closed;
}
