import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Kapi } from "../kapi.ts";
import { createFakeKapi, type FakeKapi } from "../testing/index.ts";
import { verifyWebhook } from "../webhooks/verify.ts";
import { connectionOf, ProfileStore } from "./connection.ts";
import { runCommandLine } from "./program.ts";
import type { Surroundings } from "./surroundings.ts";

/** A pause of 5 s before a retry. */
const PAUSE = { "retry-after": "5" };

let fake: FakeKapi;
let folder: string;
let ended: AbortController;

beforeEach(() => {
  fake = createFakeKapi();
  folder = mkdtempSync(path.join(tmpdir(), "kapi-cli-"));
  ended = new AbortController();
  vi.stubGlobal("fetch", fake.fetch);
});
afterEach(() => {
  vi.unstubAllGlobals();
  rmSync(folder, { recursive: true });
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function surroundingsOf(write: { out: string; err: string }, environment: Record<string, string> = {}): Surroundings {
  return {
    environment: {
      XDG_CONFIG_HOME: folder,
      KAPI_URL: fake.baseUrl,
      KAPI_KEY: fake.key,
      KAPI_SERVER: fake.serverId,
      ...environment,
    },
    out: (text) => void (write.out += text),
    err: (text) => void (write.err += text),
    ask: () => Promise.resolve(""),
    readLine: () => Promise.resolve(fake.key),
    isTerminal: false,
    columns: 80,
    nowMs: () => Date.now(),
    signal: ended.signal,
  };
}

/** Runs a command; arguments must not contain spaces. */
async function kapi(typed: string, line = fake.key): Promise<Ran> {
  const write = { out: "", err: "" };
  const surroundings = { ...surroundingsOf(write), readLine: () => Promise.resolve(line) };
  const code = await runCommandLine(typed.split(" "), surroundings);
  return { code, ...write };
}

test("a list of JSON lines ends at --limit", async () => {
  for (const name of ["One", "Two", "Three"]) await kapi(`accounts create --name ${name} --leverage 100 --key ${name}`);
  const listed = await kapi("accounts list --limit 2 --json");
  expect(listed.out.trim().split("\n")).toHaveLength(2);
});

test("two exports of an account may end at the same time and begin at different times", async () => {
  await kapi("accounts create --name One --balance 1000 --leverage 100 --key one");
  const all = await kapi("accounts export 10000001 --to 2100-01-01T00:00:00Z");
  const none = await kapi("accounts export 10000001 --from 2099-01-01T00:00:00Z --to 2100-01-01T00:00:00Z");
  expect([all, none].map(({ code, out }) => [code, out === ""])).toEqual([
    [0, false],
    [0, true],
  ]);
});

test("state shows an account as it was; for a time before the account began, the error names the earliest time", async () => {
  await kapi("accounts create --name One --balance 1000 --leverage 100 --key one");
  const account = "10000001";
  fake.openPosition(account, { volume: 0.5 });
  const shown = await kapi(`accounts state ${account} --at 0m`);
  expect(shown.out).toMatch(/^balance +1000\.00$/m);
  expect(shown.out).toMatch(/EURUSD +buy +0\.5 +0 +1\.1/);
  const early = await kapi(`accounts state ${account} --at 2020-01-01T00:00:00Z`);
  expect(early).toMatchObject({ code: 1, out: "" });
  expect(early.err).toContain("at: must not be before the account began: 20");
  expect((await kapi(`accounts state ${account}`)).code).toBe(2);
});

test.each(["", " --follow"])(
  "kapi logs --operation%s reads, and pays for, only the usage of that operation",
  async (follow) => {
    await kapi("accounts create --name One --leverage 100 --key one");
    await kapi("accounts deposit 10000001 5 --key two");
    const client = new Kapi(fake.options);
    for (let read = 0; read < 120; read += 1) await client.credits.prices();
    const usageReads = (): number => fake.requests.filter((request) => request.endsWith("/credits/usage")).length;
    const running = kapi(`logs --operation depositAccountFunds --json${follow}`);
    await vi.waitUntil(() => usageReads() > 0);
    ended.abort();
    const { out } = await running;
    expect(
      out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as object),
    ).toMatchObject([{ credits: 5 }]);
    expect(usageReads()).toBe(1);
  },
);

test("a list with --limit reads, and pays for, no page beyond the limit", async () => {
  const client = new Kapi(fake.options);
  for (let read = 0; read < 120; read += 1) await client.credits.prices();
  for (const command of ["logs --json", "logs --operation getCreditPrices --json"]) {
    const before = fake.requests.length;
    expect((await kapi(`${command} --limit 100`)).out.trim().split("\n")).toHaveLength(100);
    expect(fake.requests).toHaveLength(before + 1);
  }
});

test("kapi digests fails for a day that is not over; for an invalid date it sends no request", async () => {
  await kapi("accounts create --name One --leverage 100 --key one");
  expect(await kapi("digests --date 2026-03-01 --json")).toMatchObject({ code: 0, out: "" });
  const today = new Date().toISOString().slice(0, 10);
  expect(await kapi(`digests --date ${today}`)).toMatchObject({ code: 1 });
  const asked = fake.requests.length;
  for (const wrong of ["2026-02-30", "yesterday"])
    expect(await kapi(`digests --date ${wrong}`)).toMatchObject({ code: 2 });
  expect(await kapi("digests")).toMatchObject({ code: 2 });
  expect(fake.requests).toHaveLength(asked);
});

test("the passwords of a new account are shown even if its command fails", async () => {
  fake.failNextCommand("REJECTED_BY_SERVER");
  const ran = await kapi("accounts create --name One --leverage 100 --key one --json");
  expect(ran.code).toBe(1);
  expect(JSON.parse(ran.out)).toMatchObject({ tradingPassword: expect.any(String) as string });
});

test("Ctrl-C ends the wait for a new account: the passwords are shown, and the exit code says that the command is not final", async () => {
  fake.holdCommands();
  const running = kapi("accounts create --name One --leverage 100 --key one --json");
  await vi.waitUntil(() => fake.requests.some((request) => request.includes("/commands/")));
  ended.abort();
  const ran = await running;
  expect(ran.code).toBe(3);
  expect(JSON.parse(ran.out)).toMatchObject({ tradingPassword: expect.any(String) as string, result: null });
});

test.each([
  ["events tail", 0],
  ["logs --follow", 0],
  ["logs --operation depositAccountFunds --follow", 0],
  ["listen --forward-to http://receiver.test/hook", 3],
  ["trigger account.disabled", 3],
  ["commands wait 0197a3c2-6d20-7a10-8b3f-91c5e07d2a02", 3],
  ["accounts list --all", 3],
  ["accounts export 10000001", 3],
  ["accounts deposit 10000001 5 --key one", 3],
  ["credits balance", 3],
])(
  "Ctrl-C ends a running request, and the pause before a retry: %s",
  async (typed, code) => {
    const silent = vi.fn<typeof fetch>((_url, init) => {
      const { promise, reject } = Promise.withResolvers<Response>();
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
      return promise;
    });
    const busy = vi.fn<typeof fetch>(() => Promise.resolve(new Response("", { status: 429, headers: PAUSE })));
    for (const answer of [silent, busy]) {
      vi.stubGlobal("fetch", answer);
      ended = new AbortController();
      const running = kapi(typed);
      await vi.waitUntil(() => answer.mock.calls.length === 1);
      ended.abort();
      expect((await running).code).toBe(code);
      expect(answer).toHaveBeenCalledTimes(1);
    }
  },
  3_000,
);

test("a generated idempotency key is printed even if the request fails, so that the request can be repeated", async () => {
  fake.failNext({ status: 500, afterEffect: true }, 20);
  const ran = await kapi("accounts create --name One --leverage 100 --json");
  expect(ran.err).toMatch(/^idempotency key: [0-9a-f-]{36}$/m);
  expect(ran.err).toContain("  gave up after 4 attempts\n");
  expect(ran.code).toBe(3);
});

test("the text for a 401 names the key and its allowed networks, because either can be the cause", async () => {
  fake.failNext({ status: 401 });
  const ran = await kapi("credits balance");
  expect(ran.code).toBe(4);
  expect(ran.err).toContain("its allowed networks");
  expect(ran.err).toContain("kapi login");
});

test("a stored key is not sent to an address that KAPI_URL names", async () => {
  const write = { out: "", err: "" };
  const { KAPI_KEY: _key, ...environment } = surroundingsOf(write).environment;
  const without = { ...surroundingsOf(write), environment: { ...environment, KAPI_URL: "http://other.test" } };
  new ProfileStore(without).write({ baseUrl: "http://stored.test", key: "kapi.stored.key" });
  await expect(connectionOf(without, {})).rejects.toThrow("KAPI_KEY");
});

test("the result of close-only names the cancelled orders, and the result of flatten names the closed positions", async () => {
  const created = await kapi("accounts create --name One --leverage 100 --key one --json");
  const { accountNumber } = (JSON.parse(created.out) as { result: { accountNumber: string } }).result;
  const positionId = fake.openPosition(accountNumber);
  const orderId = fake.placeOrder(accountNumber);
  const restricted = await kapi(`accounts close-only ${accountNumber} --json`);
  expect(JSON.parse(restricted.out)).toMatchObject({ result: { status: "close_only", cancelled: [orderId] } });
  const listed = await kapi("accounts list --status close_only --json");
  expect(JSON.parse(listed.out)).toMatchObject({ accountNumber });
  const flattened = await kapi(`accounts flatten ${accountNumber} --json`);
  expect(JSON.parse(flattened.out)).toMatchObject({ result: { closed: [{ positionId }] } });
});

test("a name with control characters does not change the terminal", async () => {
  await kapi("accounts create --name \u001B[2JGone --leverage 100 --key one");
  const listed = await kapi("accounts list");
  expect(listed.out).toContain("\uFFFD[2JGone");
  expect(listed.out).not.toContain("\u001B[2J");
});

test("a login with a malformed key is a usage error", async () => {
  const ran = await kapi("login --base-url http://other.test --key-stdin", "no-key");
  expect(ran).toMatchObject({ code: 2, out: "" });
});

test("a login that reads the key from standard input asks no questions, so it requires --base-url", async () => {
  const write = { out: "", err: "" };
  const ask = vi.fn<Surroundings["ask"]>(() => Promise.resolve(fake.key));
  expect(await runCommandLine(["login", "--key-stdin"], { ...surroundingsOf(write), ask })).toBe(2);
  expect(write.err).toContain("--key-stdin needs --base-url");
  expect(ask).not.toHaveBeenCalled();
});

test("an address without a scheme, typed at a login, is a usage error", async () => {
  const write = { out: "", err: "" };
  const ask: Surroundings["ask"] = (_question, options) =>
    Promise.resolve(options?.isSecret === true ? fake.key : "localhost:8080");
  expect(await runCommandLine(["login"], { ...surroundingsOf(write), ask })).toBe(2);
  expect(write.err).toContain('must be an address such as https://api.example.com: "localhost:8080"');
});

test("a login keeps the stored secret of listen, and only the owner of the file can read it", async () => {
  const store = new ProfileStore(surroundingsOf({ out: "", err: "" }));
  store.write({ baseUrl: fake.baseUrl, key: fake.key, webhookSecret: "whsec_kept" });
  await kapi(`login --base-url ${fake.baseUrl} --key-stdin`);
  expect(store.read()).toMatchObject({ webhookSecret: "whsec_kept" });
  expect(statSync(store.file).mode & 0o777).toBe(0o600);
  expect(readFileSync(store.file, "utf8")).toContain(fake.key);
});

test("login prints “1 credit” and replay “1 event”, in the singular", async () => {
  vi.stubGlobal("fetch", async (url: string | URL, init: RequestInit) => {
    if (String(url).endsWith("/replay")) return Response.json({ events: 1 }, { status: 202 });
    const answer = await fake.fetch(url, init);
    return new Response((await answer.text()).replace(/"availableCredits":\d+/, '"availableCredits":1'), answer);
  });
  expect((await kapi(`login --base-url ${fake.baseUrl} --key-stdin`)).out).toContain(" 1 credit. ");
  expect((await kapi("webhooks replay endpoint --since 2h")).out).toBe("1 event is sent again.\n");
});

test("listen sends what a webhook delivery has: amounts as numbers, a valid signature; the next start uses the same secret", async () => {
  const received: { body: string; headers: Record<string, string> }[] = [];
  vi.stubGlobal("fetch", (url: string | URL, init: RequestInit) => {
    if (String(url) !== "http://receiver.test/hook") return fake.fetch(url, init);
    received.push({ body: init.body as string, headers: init.headers as Record<string, string> });
    return Promise.resolve(new Response("", { status: 200 }));
  });
  await kapi("accounts create --name One --leverage 100 --balance 100 --key one");
  const listen = async (more = ""): Promise<string> => {
    ended = new AbortController();
    const heard = received.length;
    const running = kapi(`listen --forward-to http://receiver.test/hook --after ${start} --json${more}`);
    await vi.waitUntil(() => received.length > heard);
    ended.abort();
    const { code, out } = await running;
    expect(code).toBe(0);
    return (JSON.parse(out.split("\n")[0] ?? "") as { secret: string }).secret;
  };
  const start = (await kapi("events list --limit 1")).err.match(/--after (\S+)/)?.[1] ?? "";
  await kapi("accounts deposit 10000001 250.55 --key two");
  const secret = await listen();
  const booked = received.find(({ body }) => body.includes('"deposit"'));
  expect(JSON.parse(booked?.body ?? "{}")).toMatchObject({ type: "transaction.recorded", data: { amount: 250.55 } });
  const event = verifyWebhook(booked?.body ?? "", booked?.headers ?? {}, secret);
  expect(event).toMatchObject({ data: { amount: "250.55" } });
  expect(await listen()).toBe(secret);
  expect(await listen(" --new-secret")).not.toBe(secret);
});

test("with --password-stdin, a new account gets the password from standard input", async () => {
  const ran = await kapi(
    "accounts create --name One --leverage 100 --key one --password-stdin --json",
    "long enough 1",
  );
  expect(JSON.parse(ran.out)).toMatchObject({ tradingPassword: "long enough 1" });
});

test("help explains the exit codes, and an unknown command exits with 2", async () => {
  expect((await kapi("help exit-codes")).out).toMatch(/^4 {2}the key is not accepted/m);
  expect(await kapi("acounts list")).toMatchObject({ code: 2, out: "" });
});

test.each([
  ["accounts deposit 10000001 1,5", "at most two decimals"],
  ["accounts list --limit 0", "whole number"],
  ["accounts list --status open", "Allowed choices"],
  ["accounts transactions 10000001 --since yesterday", "a duration such as 2h"],
  // `Date` parses these, as a time of 2001, as a local time, and as March 2.
  ["accounts transactions 10000001 --since 1", "a duration such as 2h"],
  ["accounts transactions 10000001 --since 2026-03-01T00:00", "a duration such as 2h"],
  ["accounts transactions 10000001 --since 2026-02-30", "a duration such as 2h"],
  ["check-webhooks --url http://localhost --secret x", "whsec_"],
  ["listen --forward-to localhost:3000", "It must be an address"],
  ["accounts export 10000001 --key one", "--key needs --to"],
  ["accounts export 10000001 --no-wait", "unknown option '--no-wait'"],
  ["accounts delete 10000001 --immediately --key one", "--immediately takes neither --key nor --no-wait"],
  ["accounts delete 10000001 --immediately --no-wait", "--immediately takes neither --key nor --no-wait"],
  ["stream 10000001", "KAPI_LIVE_URL"],
])("a usage error is reported, and no request is sent: %s", async (typed, said) => {
  const ran = await kapi(typed);
  expect(ran).toMatchObject({ code: 2, out: "" });
  expect(ran.err).toContain(said);
  expect(fake.requests).toEqual([]);
});

test("trigger changes nothing on a server that is not a demo", async () => {
  const real = (url: string | URL, init: RequestInit): Promise<Response> =>
    fake.fetch(url, init).then(async (response) => {
      const text = (await response.text()).replace('"environment":"demo"', '"environment":"real"');
      return new Response(text, response);
    });
  vi.stubGlobal("fetch", real);
  const ran = await kapi("trigger transaction.recorded");
  expect(ran).toMatchObject({ code: 2, out: "" });
  expect(fake.requests.filter((request) => request.startsWith("POST"))).toEqual([]);
});

test("trigger prints the event that it caused; for an event of a trade it needs the control API", async () => {
  const ran = await kapi("trigger account.disabled --json");
  expect(ran.code).toBe(0);
  expect(ran.out).toContain('"type":"account.disabled"');
  expect(await kapi("trigger position.closed")).toMatchObject({ code: 2, out: "" });
});

/** What Tab proposes in a real bash for the last of the words, which is incomplete. */
function proposals(script: string, ...words: string[]): string[] {
  const typed = ["kapi", ...words].map((word) => `"${word}"`).join(" ");
  const run = `${script}\nCOMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _kapi; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = spawnSync("bash", ["-c", run], { encoding: "utf8" });
  return stdout.split("\n").filter((word) => word !== "");
}

test("Tab proposes commands, options and the values of options in bash", async () => {
  const { out } = await kapi("completion bash");
  expect(proposals(out, "acc")).toEqual(["accounts"]);
  expect(proposals(out, "accounts", "dep")).toEqual(["deposit"]);
  expect(proposals(out, "accounts", "deposit", "10000001", "5", "--k")).toEqual(["--key"]);
  expect(proposals(out, "accounts", "list", "--status", "a")).toEqual(["active", "archived"]);
  expect(proposals(out, "trigger", "position.c")).toEqual(["position.closed"]);
});

test("if kapi cannot be reached, the exit code says that the same call can be repeated", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  vi.unstubAllGlobals();
  const write = { out: "", err: "" };
  const environment = { KAPI_URL: `http://127.0.0.1:${port}` };
  expect(await runCommandLine(["credits", "balance"], surroundingsOf(write, environment))).toBe(3);
  expect(write.err).toContain(String(port));
});
