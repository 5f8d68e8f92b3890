import { describe, expect, it } from "vitest";

import { ConnectionError, KapiError, RateLimitError, ServerError } from "../errors.ts";
import { type RequestOptions, Transport } from "./transport.ts";

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly key: string | null;
  readonly body: string;
}

type Scripted = { readonly status: number; readonly body?: object; readonly headers?: Record<string, string> } | Error;

/** A transport whose attempts get the scripted answers in order. The last answer repeats. */
function scripted(...answers: readonly Scripted[]): { transport: Transport; sent: Sent[] } {
  const sent: Sent[] = [];
  const script: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const { method, url } = request;
    sent.push({ method, url, key: request.headers.get("idempotency-key"), body: await request.text() });
    const answer = answers[Math.min(sent.length, answers.length) - 1] ?? new Error("no answer");
    if (answer instanceof Error) throw answer;
    return new Response(JSON.stringify(answer.body ?? {}), { status: answer.status, headers: answer.headers ?? {} });
  };
  const retry = { firstDelayMs: 0, maxDelayMs: 0, maxAttempts: 4 };
  return { transport: new Transport({ key: "kapi.a.b", baseUrl: "http://kapi.test/", retry, fetch: script }), sent };
}

const DEPOSIT: RequestOptions = {
  method: "POST",
  path: "/api/v1/management/servers/s/accounts/1/finance/deposits",
  body: { amount: "250.55", requestId: "r" },
  idempotencyKey: "payout-1",
};
const ENDPOINT: RequestOptions = {
  method: "POST",
  path: "/api/v1/management/webhooks",
  body: { url: "https://a.test" },
};
const failure = (message: string, code: string): Error => Object.assign(new Error(message), { code });
const REFUSED = Object.assign(new TypeError("fetch failed"), {
  cause: failure("connect ECONNREFUSED 127.0.0.1:8080", "ECONNREFUSED"),
});
const RESET = Object.assign(new TypeError("fetch failed"), { cause: failure("read ECONNRESET", "ECONNRESET") });

describe("a request", () => {
  it("is repeated after 5xx, 429 and lost connections, always with the same idempotency key and body", async () => {
    const { transport, sent } = scripted(
      RESET,
      { status: 500 },
      { status: 429 },
      { status: 202, body: { done: true } },
    );
    expect((await transport.request(DEPOSIT)).body).toEqual({ done: true });
    expect(sent).toHaveLength(4);
    for (const { key, body } of sent)
      expect({ key, body }).toEqual({ key: "payout-1", body: '{"amount":250.55,"requestId":"r"}' });
  });

  it("that fails throws an error that says how often the request was sent", async () => {
    const attempts = async (...answers: readonly Scripted[]): Promise<unknown> =>
      scripted(...answers)
        .transport.request(DEPOSIT)
        .then(
          () => "no failure",
          (error: unknown) => (error as KapiError).attempts,
        );
    expect(await attempts(RESET)).toBe(4);
    expect(await attempts({ status: 500 })).toBe(4);
    expect(await attempts({ status: 500 }, { status: 400 })).toBe(2);
    expect(await attempts({ status: 400 })).toBe(1);
  });

  it("is not repeated after 400, 401, 402, 403, 404 or 409", async () => {
    for (const status of [400, 401, 402, 403, 404, 409]) {
      const { transport, sent } = scripted({ status });
      await expect(transport.request(DEPOSIT)).rejects.toThrow(KapiError);
      expect(sent, String(status)).toHaveLength(1);
    }
  });

  it("that is a POST without an idempotency key is not repeated after an unknown outcome", async () => {
    for (const answer of [RESET, { status: 500 }]) {
      const { transport, sent } = scripted(answer);
      await expect(transport.request(ENDPOINT)).rejects.toThrow(KapiError);
      expect(sent).toHaveLength(1);
    }
  });

  it("that is a POST without an idempotency key is repeated if it certainly had no effect", async () => {
    const { transport, sent } = scripted(REFUSED, { status: 429 }, { status: 201 });
    expect((await transport.request(ENDPOINT)).status).toBe(201);
    expect(sent).toHaveLength(3);
  });

  it("waits for Retry-After, and gives up at once if Retry-After is longer than the maximum time", async () => {
    const late = { status: 500, headers: { "retry-after": "3600" } };
    const { transport, sent } = scripted(late);
    await expect(transport.request(DEPOSIT)).rejects.toMatchObject({ retryAfterS: 3_600 });
    expect(sent).toHaveLength(1);
    const soon = scripted({ status: 429, headers: { "retry-after": "1" } }, { status: 200 });
    const startedAtMs = performance.now();
    await soon.transport.request(DEPOSIT);
    expect(performance.now() - startedAtMs).toBeGreaterThan(990);
  });

  it("that fails throws the last error, with everything that the last answer says", async () => {
    const body = { error: "Rate limit exceeded", code: "RATE_LIMITED", requestId: "q-1" };
    const headers = { "x-request-id": "q-1", "x-credits-charged": "1", "retry-after": "0" };
    const { transport, sent } = scripted({ status: 429, body, headers });
    const error: unknown = await transport.request(DEPOSIT).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({
      name: "RateLimitError",
      reason: "Rate limit exceeded",
      message: "Rate limit exceeded (RATE_LIMITED, request q-1)",
      status: 429,
      code: "RATE_LIMITED",
      requestId: "q-1",
      creditsCharged: 1,
      retryable: true,
      issues: [],
    });
    expect(sent).toHaveLength(4);
  });

  it("with invalid fields throws an error whose message names these fields", async () => {
    const issues = [
      { path: ["amount"], code: "too_small", message: "must be above 0" },
      { path: ["accounts", 1, "name"], code: "too_big", message: "must be at most 64 characters" },
    ];
    const body = { error: "Request is invalid", code: "VALIDATION_FAILED", requestId: "q-2", issues };
    await expect(scripted({ status: 400, body }).transport.request(DEPOSIT)).rejects.toMatchObject({
      message: expect.stringContaining(
        "Request is invalid: amount: must be above 0; accounts.1.name: must be at most 64 characters (VALIDATION_FAILED,",
      ),
    });
  });

  it("throws an error that says why the connection failed, also if the cause has no code", async () => {
    const blocked = Object.assign(new TypeError("fetch failed"), { cause: new Error("bad port") });
    await expect(scripted(blocked).transport.request(ENDPOINT)).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      reason: "no answer from http://kapi.test: bad port",
    });
  });

  it("throws a ConnectionError with the code of the failure if no answer came", async () => {
    const lost = await scripted(RESET)
      .transport.request(DEPOSIT)
      .catch((thrown: unknown) => thrown);
    expect(lost).toBeInstanceOf(ConnectionError);
    expect(lost).toMatchObject({
      status: null,
      code: "ECONNRESET",
      reason: "no answer from http://kapi.test: read ECONNRESET",
    });
  });

  it.each([
    "<html>",
    "null",
    '"text"',
    "[]",
    '{"error":{"message":"bad"},"code":502}',
    '{"issues":[null]}',
    '{"issues":[{"path":[],"message":"an issue without a code"}]}',
  ])("that a proxy answers with 502 and the body %s throws a ServerError", async (body) => {
    const proxy = new Transport({
      key: "kapi.a.b",
      baseUrl: "http://kapi.test",
      retry: { maxAttempts: 1 },
      fetch: async () => new Response(body, { status: 502 }),
    });
    const bad = await proxy.request(DEPOSIT).catch((thrown: unknown) => thrown);
    expect(bad).toBeInstanceOf(ServerError);
    const expected = { status: 502, code: "HTTP_502", reason: "HTTP status 502", issues: [], retryable: true };
    expect(bad).toMatchObject(expected);
  });

  it("is not sent after the caller has aborted it", async () => {
    const { transport, sent } = scripted({ status: 500 });
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(transport.request({ ...DEPOSIT, signal })).rejects.toThrow("stopped");
    expect(sent).toEqual([]);
  });

  it("writes times and lists into the query, and leaves out what is undefined", async () => {
    const { transport, sent } = scripted({ status: 200 });
    const query = { from: new Date(0), kinds: ["a", "b"], limit: 5, cursor: undefined };
    await transport.request({ method: "GET", path: "/x", query });
    expect(sent[0]?.url).toBe("http://kapi.test/x?from=1970-01-01T00%3A00%3A00.000Z&kinds=a%2Cb&limit=5");
  });
});

it("white space around the management key, such as the line break of a file, is not part of the key", () => {
  const { authorization } = new Transport({ key: " kapi.a.b\r\n", baseUrl: "http://kapi.test" });
  expect(authorization).toBe("Management kapi.a.b");
});

it("a malformed key or address is rejected at once, and the error repeats neither the key nor a password in the address", () => {
  for (const key of ["", "secret", "kapi.", "kapi.a.b c", "kapi.a.b\nkapi.a.c", "kapi.a.\u0000", "kapi.a.é"]) {
    expect(() => new Transport({ key, baseUrl: "http://kapi.test" }), key).toThrow(
      new TypeError(
        "key must be a management key: kapi.<key_id>.<secret>, in printable ASCII characters without spaces",
      ),
    );
  }
  for (const baseUrl of ["", "kapi", "localhost:8080", "ws://kapi.test", "http://kapi.test/api/v1/management"]) {
    expect(() => new Transport({ key: "kapi.a.b", baseUrl }), baseUrl).toThrow("baseUrl must be");
  }
  for (const baseUrl of ["http://kapi.test?tenant=1", "http://kapi.test/#top", "http://kapi.test/?"]) {
    expect(() => new Transport({ key: "kapi.a.b", baseUrl }), baseUrl).toThrow("baseUrl must be");
  }
  // The error does not repeat the password.
  for (const baseUrl of [
    "http://user:secret@kapi.test/pre",
    "http://user@kapi.test/pre",
    "http://:secret@kapi.test/pre",
  ]) {
    expect(() => new Transport({ key: "kapi.a.b", baseUrl }), baseUrl).toThrow(
      new TypeError('baseUrl must be an address without user name and password: use "http://kapi.test/pre"'),
    );
  }
});
