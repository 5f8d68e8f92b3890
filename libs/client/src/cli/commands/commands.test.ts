/** Commands that follow what happens: `kapi stream`, `kapi trigger` and `kapi logs --follow`. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Kapi } from "../../kapi.ts";
import { createFakeKapi, type FakeKapi } from "../../testing/index.ts";
import { runCommandLine } from "../program.ts";
import type { Surroundings } from "../surroundings.ts";

let fake: FakeKapi;
let ended: AbortController;

beforeEach(() => {
  fake = createFakeKapi();
  ended = new AbortController();
  vi.stubGlobal("fetch", fake.fetch);
});
afterEach(() => vi.unstubAllGlobals());

/** Starts a command; arguments must not contain spaces. What it writes is in the result. */
function start(typed: string, changes: Partial<Surroundings> = {}, liveUrl = fake.liveUrl) {
  const written = { out: "", err: "" };
  const environment = {
    XDG_CONFIG_HOME: tmpdir(),
    KAPI_URL: fake.baseUrl,
    KAPI_LIVE_URL: liveUrl,
    KAPI_KEY: fake.key,
    KAPI_SERVER: fake.serverId,
  };
  const code = runCommandLine(typed.split(" "), {
    environment,
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    ask: () => Promise.resolve(""),
    readLine: () => Promise.resolve(""),
    isTerminal: false,
    columns: 80,
    nowMs: () => Date.now(),
    signal: ended.signal,
    ...changes,
  });
  return { code, written };
}

test("`stream` ends after kapi rejects the key, and draws its table no more", async () => {
  const server = createServer((_request, response) => response.writeHead(401).end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const { port } = server.address() as AddressInfo;
  const { code } = start("stream 10000001 10000002", { isTerminal: true }, `ws://127.0.0.1:${port}`);
  expect(await code).toBe(4);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  server.close();
});

test("`trigger` waits for the event of its own server, and ignores events of other servers with the same account number", async () => {
  const other = "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02";
  vi.stubGlobal("fetch", async (url: string | URL, init: RequestInit) => {
    const answer = await fake.fetch(url, init);
    if (!new URL(url).pathname.endsWith("/events")) return answer;
    const page = (await answer.json()) as { events: { id: string; data: object }[] };
    const events = page.events.flatMap((event) => [
      { ...event, id: "foreign", data: { ...event.data, serverId: other } },
      event,
    ]);
    return Response.json({ ...page, events });
  });
  const { code, written } = start("trigger account.disabled --json");
  expect(await code).toBe(0);
  expect(written.out).toContain('"type":"account.disabled"');
  expect(written.out).not.toContain("foreign");
});

test.each(["account.created", "margin.call"])(
  "`trigger %s` rejects --account, because it creates an account",
  async (kind) => {
    const { code, written } = start(`trigger ${kind} --account 10000001`);
    expect(await code).toBe(2);
    expect(written.err).toContain("--account 10000001");
    expect(fake.requests.filter((request) => request.startsWith("POST"))).toEqual([]);
  },
);

test.each(["", " --operation depositAccountFunds"])(
  "`logs%s --follow` shows new lines, also if the clock of this machine is ahead and there was no line before",
  async (operation) => {
    const { code, written } = start(`logs${operation} --follow --json`, { nowMs: () => Date.now() + 600_000 });
    await vi.waitUntil(() => fake.requests.length > 0);
    const client = new Kapi(fake.options);
    const queued = await client
      .server(fake.serverId)
      .accounts.create({ accountName: "One", initialBalance: "0", leverage: 100 }, { key: "one" });
    const { accountNumber } = await queued.result();
    await client.server(fake.serverId).account(accountNumber).deposit({ amount: "5.00" }, { key: "two" });
    await vi.waitUntil(() => written.out !== "", 4_500);
    ended.abort();
    expect(await code).toBe(0);
    const operations = written.out
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { operation: string }).operation);
    expect(operations.at(-1)).toBe("depositAccountFunds");
  },
);
