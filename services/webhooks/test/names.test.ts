/** Names against a real name server: one that is silent about a name costs nobody else anything. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { FAILURE_TTL_MS, openNames, parseHosts, shareLookups } from "../src/outbound/http/names.ts";
import { createAddressGuard } from "../src/outbound/http/resolve.ts";
import { type NameAnswer, NameServer } from "./name-server.ts";

const PUBLIC = "93.184.215.14";
const RULES = { allowedPorts: [443], allowInsecure: false } as const;
/** More names than libuv has threads. */
const SILENT_NAMES = 40;
/** What a look-up may take beyond its deadline on a busy machine, in milliseconds. */
const SLACK_MS = 2_000;

let server: NameServer;
/** Names beside `…silent.example`, which are never answered. */
const names = new Map<string, NameAnswer>();

beforeAll(async () => {
  server = await NameServer.start((name) =>
    name.endsWith("silent.example") ? "silent" : (names.get(name) ?? "unknown"),
  );
});
afterAll(() => server.stop());

const open = async () => shareLookups(await openNames([server.address]));

describe("while a name server is silent about many names", () => {
  it("other names are resolved at once, slow ones as soon as they are told, and endpoints can be saved", async () => {
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
    expect(await guard.refusal("https://quick.example/hook")).toBeNull();
    await resolve("slow.example");
    // All of that while the silent ones are still waited for, which takes 5 s.
    expect(ended).toBe(0);
    expect(await guard.refusal("https://new.silent.example/")).toBe("new.silent.example cannot be resolved now");
    for (const one of await Promise.all(silent)) expect(one).toMatchObject({ name: "NotResolvedNow" });
  });
});

it("look-ups of a name at the same time are one, and its failure holds for a short time", async () => {
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

describe("an endpoint can be saved at once", () => {
  it("where the first name server is silent and the second one is not", async () => {
    names.set("quick.example", { address: PUBLIC });
    const silent = await NameServer.start(() => "silent");
    const guard = createAddressGuard(RULES, await openNames([silent.address, server.address]));
    expect(await guard.refusal("https://quick.example/hook")).toBeNull();
    await silent.stop();
  });

  it("where its name server is silent about IPv6 alone", async () => {
    names.set("old.example", { address: PUBLIC, silentAboutIpv6: true });
    const guard = createAddressGuard(RULES, await open());
    expect(await guard.refusal("https://old.example/hook")).toBeNull();
  });
});

it("an answer that is too large for UDP is asked for over TCP, and checked whole", async () => {
  names.set("large.example", { address: "10.0.0.7", truncated: true });
  const resolve = await open();
  expect(await resolve("large.example")).toEqual([{ address: "10.0.0.7", family: 4 }]);
  const guard = createAddressGuard(RULES, resolve);
  expect(await guard.refusal("https://large.example/")).toBe("large.example does not resolve to public addresses");
});

it("a name whose name server fails is not called unknown or private", async () => {
  names.set("failing.example", "failing");
  const guard = createAddressGuard(RULES, await open());
  expect(await guard.refusal("https://failing.example/")).toBe("failing.example cannot be resolved now");
});

it.each([`https://${PUBLIC}/hook`, "https://[2606:4700:4700::1111]/hook"])(
  "a public address without a name can be saved, and no name server is asked: %s",
  async (url) => {
    const guard = createAddressGuard(RULES, await open());
    const askedBefore = server.asked.length;
    expect(await guard.refusal(url)).toBeNull();
    expect(server.asked).toHaveLength(askedBefore);
  },
);

describe("an address that is refused", () => {
  it.each([
    ["that has a private address", { address: "10.0.0.7" }],
    ["that is not known", "unknown"],
  ] as const)("by a name %s tells no more than that the name is not public", async (_what, answer) => {
    names.set("db.example", answer);
    const guard = createAddressGuard(RULES, await open());
    expect(await guard.refusal("https://db.example/")).toBe("db.example does not resolve to public addresses");
  });
});

it("names of the hosts file and localhost need no name server", async () => {
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
