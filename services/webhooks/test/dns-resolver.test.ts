/** The DNS resolver against a real name server: a name without an answer delays no other name. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { FAILURE_TTL_MS, createDnsResolver, parseHosts, shareLookups } from "../src/outbound/http/dns-resolver.ts";
import { createAddressGuard } from "../src/outbound/http/address-guard.ts";
import { type NameAnswer, NameServer } from "./name-server.ts";

const PUBLIC = "93.184.215.14";
const RULES = { allowedPorts: [443], allowInsecure: false } as const;
/** More names than libuv has threads. */
const SILENT_NAMES = 40;
/** Tolerance for a busy machine, in milliseconds. */
const SLACK_MS = 2_000;

let server: NameServer;
/** Answers by name. `…silent.example` is never answered. */
const names = new Map<string, NameAnswer>();

beforeAll(async () => {
  server = await NameServer.start((name) =>
    name.endsWith("silent.example") ? "silent" : (names.get(name) ?? "unknown"),
  );
});
afterAll(() => server.stop());

const open = async () => shareLookups(await createDnsResolver([server.address]));

describe("while many names get no answer", () => {
  it("other names resolve immediately, slow names resolve when answered, and endpoints can be saved", async () => {
    names.set("quick.example", { address: PUBLIC });
    names.set("slow.example", { address: PUBLIC, afterMs: 1_500 });
    const resolve = await open();
    const guard = createAddressGuard(RULES, resolve);
    let ended = 0;
    const silent = Array.from({ length: SILENT_NAMES }, (_, index) =>
      resolve(`${index}.silent.example`).catch((error: unknown) => {
        ended += 1;
        return error;
      }),
    );
    for (let round = 0; round < 5; round += 1) {
      expect(await resolve("quick.example")).toEqual([{ address: PUBLIC, family: 4 }]);
    }
    expect(await guard.rejection("https://quick.example/hook")).toBeNull();
    await resolve("slow.example");
    // The silent look-ups are still running: they time out after 5 s.
    expect(ended).toBe(0);
    expect(await guard.rejection("https://new.silent.example/")).toBe("new.silent.example cannot be resolved now");
    for (const one of await Promise.all(silent)) expect(one).toMatchObject({ name: "DnsUnavailableError" });
  });
});

it("concurrent look-ups of a name are shared, and a failure is cached briefly", async () => {
  const resolve = await open();
  const name = "new.example";
  const first = [resolve(name), resolve(name)];
  for (const one of first) await expect(one).rejects.toThrow("new.example cannot be resolved");
  names.set(name, { address: PUBLIC });
  await expect(resolve(name)).rejects.toThrow();
  expect(server.asked.filter((asked) => asked === name)).toHaveLength(1);
  await expect
    .poll(() => resolve(name).catch(() => []), { timeout: FAILURE_TTL_MS + SLACK_MS, interval: 100 })
    .toEqual([{ address: PUBLIC, family: 4 }]);
});

describe("an endpoint can be saved", () => {
  it("if the first name server is silent and the second one answers", async () => {
    names.set("quick.example", { address: PUBLIC });
    const silent = await NameServer.start(() => "silent");
    const guard = createAddressGuard(RULES, await createDnsResolver([silent.address, server.address]));
    expect(await guard.rejection("https://quick.example/hook")).toBeNull();
    await silent.stop();
  });

  it("if the name server answers only for IPv4", async () => {
    names.set("old.example", { address: PUBLIC, silentAboutIpv6: true });
    const guard = createAddressGuard(RULES, await open());
    expect(await guard.rejection("https://old.example/hook")).toBeNull();
  });
});

it("after a truncated UDP answer, the question is repeated over TCP, and the TCP answer is checked", async () => {
  names.set("large.example", { address: "10.0.0.7", truncated: true });
  const resolve = await open();
  expect(await resolve("large.example")).toEqual([{ address: "10.0.0.7", family: 4 }]);
  const guard = createAddressGuard(RULES, resolve);
  expect(await guard.rejection("https://large.example/")).toBe("large.example does not resolve to public addresses");
});

it("a name server failure is not reported as an unknown or private name", async () => {
  names.set("failing.example", "failing");
  const guard = createAddressGuard(RULES, await open());
  expect(await guard.rejection("https://failing.example/")).toBe("failing.example cannot be resolved now");
});

it.each([`https://${PUBLIC}/hook`, "https://[2606:4700:4700::1111]/hook"])(
  "a public IP address can be saved without asking a name server: %s",
  async (url) => {
    const guard = createAddressGuard(RULES, await open());
    const askedBefore = server.asked.length;
    expect(await guard.rejection(url)).toBeNull();
    expect(server.asked).toHaveLength(askedBefore);
  },
);

describe("a rejected URL", () => {
  it.each([
    ["with a private address", { address: "10.0.0.7" }],
    ["without an address", "unknown"],
  ] as const)("for a name %s reveals only that the name is not public", async (_what, answer) => {
    names.set("db.example", answer);
    const guard = createAddressGuard(RULES, await open());
    expect(await guard.rejection("https://db.example/")).toBe("db.example does not resolve to public addresses");
  });
});

it("hosts files are parsed, and localhost needs no name server", async () => {
  const hosts = parseHosts("# comment\n127.0.0.1 localhost me.example # mine\n\n10.1.2.3\tME.example\nbad line\n");
  expect(hosts.get("me.example")).toEqual([
    { address: "127.0.0.1", family: 4 },
    { address: "10.1.2.3", family: 4 },
  ]);
  expect(parseHosts("").get("localhost")).toHaveLength(2);
  const resolve = await open();
  for (const name of ["localhost", "app.localhost"]) {
    expect(await resolve(name)).toContainEqual({ address: "127.0.0.1", family: 4 });
    expect(server.asked).not.toContain(name);
  }
});
