import { afterEach, describe, expect, it, vi } from "vitest";

import { ConnectionError, NotFoundError, ServerError } from "./errors.ts";
import { Kapi } from "./kapi.ts";
import type { LiveEvent } from "./live/events.ts";
import type { SocketFactory } from "./live/socket.ts";
import { createFakeKapi } from "./testing/index.ts";

const KEY = "kapi.a.b";

afterEach(() => vi.restoreAllMocks());

it("the path of `baseUrl` is kept for requests, and the path of `liveUrl` for the live stream", async () => {
  const urls: string[] = [];
  const socket: SocketFactory = (url) => {
    urls.push(url);
    const ignore = (): void => undefined;
    return { send: ignore, pause: ignore, resume: ignore, close: ignore, terminate: ignore };
  };
  const answer = async (url: string | URL | Request): Promise<Response> => {
    urls.push(url instanceof Request ? url.url : url.toString());
    return Response.json({});
  };
  for (const path of ["", "/", "/pre", "/pre/"]) {
    const kapi = new Kapi({ key: KEY, baseUrl: `https://h${path}`, liveUrl: `wss://h${path}`, fetch: answer, socket });
    await kapi.credits.balance();
    const live = kapi.live({ places: { load: () => Promise.resolve(null) } });
    live.follow({ serverId: "s", accountNumber: "1" }, () => undefined);
    await live.close();
  }
  const atRoot = ["https://h/api/v1/management/credits/balance", "wss://h/api/v1/management/live-metrics"];
  const below = atRoot.map((url) => url.replace("h/", "h/pre/"));
  expect(urls).toEqual([...atRoot, ...atRoot, ...below, ...below]);
});

it("a malformed address of the live stream is rejected at once, with the name of the option", () => {
  const baseUrl = "http://kapi.test";
  for (const liveUrl of [
    "",
    "localhost:8081",
    "ftp://kapi.test",
    "ws://kapi.test?a=1",
    "wss://u:p@kapi.test",
    "ws://kapi.test/api/v1",
  ]) {
    const open = (): Kapi => new Kapi({ key: KEY, baseUrl, liveUrl });
    expect(open, liveUrl).toThrow(TypeError);
    expect(open, liveUrl).toThrow("liveUrl must be");
  }
  for (const liveUrl of ["ws://kapi.test", "wss://kapi.test", "http://kapi.test", "https://kapi.test"]) {
    expect(() => new Kapi({ key: KEY, baseUrl, liveUrl }), liveUrl).not.toThrow();
  }
});

/** A fake, and its client. The answers of `instead` take the place of those of the fake. */
function answering(instead: (request: Request) => Promise<Response> | Response | undefined) {
  const fake = createFakeKapi();
  const answer: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    return (await instead(request)) ?? fake.fetch(request);
  };
  return { fake, kapi: new Kapi({ ...fake.options, fetch: answer }) };
}

async function newAccount(kapi: Kapi, serverId: string): Promise<string> {
  const account = { accountName: "A", initialBalance: "1", leverage: 100 };
  return (await (await kapi.server(serverId).accounts.create(account, { key: "new" })).result()).accountNumber;
}

it.each([
  { code: null, event: "reconciled" },
  { code: "NOT_FOUND", event: "reconciled" },
  { code: "ACCOUNT_NOT_FOUND", event: "deleted" },
  { code: "SERVER_NOT_FOUND", event: "deleted" },
])(
  "after missed samples, if the read of the account is 404 with the code $code, the handler gets the event $event",
  async ({ code, event }) => {
    const body = code === null ? "<html>nothing here</html>" : JSON.stringify({ error: "Not found", code });
    const answers = [new Response(body, { status: 404 })];
    const { fake, kapi } = answering(({ url }) => (/accounts\/[0-9]+$/.test(url) ? answers.shift() : undefined));
    const accountNumber = await newAccount(kapi, fake.serverId);
    const place = { from: 1, sequence: 9, truncations: [], truncationCount: 0 };
    const errors: Error[] = [];
    const live = kapi.live({ places: { load: async () => place }, onError: (error) => void errors.push(error) });
    const events: LiveEvent[] = [];
    live.follow({ serverId: fake.serverId, accountNumber }, (happened) => void events.push(happened));
    await expect.poll(() => events.map(({ type }) => type)).toEqual([event]);
    expect(errors).toHaveLength(event === "deleted" ? 0 : 1);
    await live.close();
  },
);

it("a retried deletion of an endpoint succeeds if kapi no longer has the endpoint", async () => {
  const lost = (): Response => new Response("", { status: 500 });
  const gone = (code: string): Response => Response.json({ error: "Not found", code }, { status: 404 });
  const deletion = async (...answers: Response[]): Promise<unknown> =>
    answering(() => answers.shift())
      .kapi.webhooks.delete("e")
      .catch((error: unknown) => error);
  expect(await deletion(lost(), gone("ENDPOINT_NOT_FOUND"))).toBeUndefined();
  expect(await deletion(lost(), gone("NOT_FOUND"))).toBeInstanceOf(NotFoundError);
  expect(await deletion(gone("ENDPOINT_NOT_FOUND"))).toBeInstanceOf(NotFoundError);
});

describe("a wait for a command ends in time", () => {
  const commandId = crypto.randomUUID();
  const timeoutMs = 1_000;
  const duration = async (waiting: Promise<unknown>): Promise<number> => {
    const startedAtMs = performance.now();
    await waiting;
    return performance.now() - startedAtMs;
  };

  it("if kapi answers only 503", async () => {
    const { fake } = answering(() => undefined);
    const kapi = new Kapi({ ...fake.options, retry: {}, fetch: async () => new Response("", { status: 503 }) });
    const waiting = kapi.commands.wait(commandId, { timeoutMs });
    expect(await duration(expect(waiting).rejects.toThrow(ServerError))).toBeLessThan(timeoutMs + 500);
  });

  it("if kapi does not answer", async () => {
    const { kapi } = answering(({ signal }) => rejectedAt(signal));
    const waiting = kapi.commands.wait(commandId, { timeoutMs });
    expect(await duration(expect(waiting).rejects.toThrow(ConnectionError))).toBeLessThan(timeoutMs + 1_500);
  });

  it("and a retry asks kapi to hold the request only for the rest of the time", async () => {
    const holds: (string | null)[] = [];
    const now = performance.now.bind(performance);
    let passedMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + passedMs);
    const { kapi } = answering(async ({ url }) => {
      holds.push(new URL(url).searchParams.get("wait"));
      if (holds.length > 1) return Response.json({ command: { id: commandId, status: "succeeded" } });
      passedMs = 1_100;
      return new Response("", { status: 503 });
    });
    await kapi.commands.wait(commandId, { timeoutMs: 5_900 });
    expect(holds).toEqual(["5", "4"]);
  });
});

/** Rejects when `signal` is aborted. */
function rejectedAt(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
}
