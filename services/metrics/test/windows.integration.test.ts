/** Stream processes that read no samples themselves, and the windows processes that they follow. */
import { request } from "node:http";

import { METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient, serviceCredentials, startInternalClient } from "@kapi/http";
import { partitionOfKey } from "@kapi/kafka";
import { delay } from "@kapi/kernel";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { Harness, type MetricsProcess } from "./harness.ts";
import { LiveClient } from "./live-client.ts";

const PARTITIONS = 4;
const COUNT = 2;
/** Longer than a stream process waits for a silent windows process. */
const SILENCE_MS = 9_000;
const CALL_TIMEOUT_MS = 5_000;

let harness: Harness;
let ports: number[];
let windows: MetricsProcess[];
let stream: MetricsProcess;
const clients: LiveClient[] = [];

/** The settings of the windows process of an instance. */
function tier(instance: number): Record<string, string> {
  return {
    ROLES: "windows",
    HTTP_PORT: String(ports[instance]),
    WINDOWS_INSTANCE: String(instance),
    WINDOWS_COUNT: String(COUNT),
    WINDOWS_REPLICA: "on",
    WINDOWS_URLS: urls(),
  };
}
const urls = (): string => ports.map((port) => `http://127.0.0.1:${port}`).join(",");

const tokenOf = (caller: "metrics" | "account") =>
  serviceCredentials({ SERVICE_TOKEN: harness.environment.secrets.serviceTokens[caller] });

/** Calls a metrics process with the token of the service `caller`. */
async function call<T>(
  to: MetricsProcess | undefined,
  caller: "metrics" | "account",
  work: (client: InternalClient) => Promise<T>,
): Promise<T> {
  const { value, stop } = startInternalClient({
    baseUrl: to?.url ?? "",
    credentials: tokenOf(caller),
    timeoutMs: CALL_TIMEOUT_MS,
  });
  try {
    return await work(value);
  } finally {
    await stop();
  }
}

async function client(to: MetricsProcess = stream): Promise<LiveClient> {
  const connected = await LiveClient.connect(to.wsUrl, harness.managementKey);
  clients.push(connected);
  return connected;
}

/** Creates an account with a sample for each windows process, in order of the instances. */
async function accountsOfBoth(): Promise<string[]> {
  const numbers = new Map<number, string>();
  while (numbers.size < COUNT) {
    const number = harness.account();
    numbers.set(partitionOfKey(`${harness.serverId}/${number}`, PARTITIONS) % COUNT, number);
  }
  await Promise.all(Array.from(numbers.values(), (number) => harness.value(number, [100_000])));
  return Array.from({ length: COUNT }, (_, instance) => numbers.get(instance) ?? "");
}

/** Checks that the client got every sequence once, in order, and no notice of a gap. */
function expectGapless(of: LiveClient, accountNumber: string, last: number): void {
  expect(of.sequences(accountNumber)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
  expect(of.frames("account.metrics.replay").filter(({ replayTruncated }) => replayTruncated === true)).toEqual([]);
}

beforeAll(async () => {
  harness = await Harness.start({ partitions: PARTITIONS });
  ports = await harness.freePorts(COUNT);
  await harness.metrics({ ROLES: "sequencer" });
  windows = await Promise.all([harness.metrics(tier(0)), harness.metrics(tier(1))]);
  const catchUpTimeoutMs = String(2 * SILENCE_MS);
  stream = await harness.metrics({ ROLES: "stream", WINDOWS_URLS: urls(), CATCH_UP_TIMEOUT_MS: catchUpTimeoutMs });
});
afterAll(async () => {
  for (const one of clients) one.close();
  await harness.scope.stop();
});

describe("a stream process that follows accounts at the windows processes", () => {
  it("sends the same bytes as a process that reads the samples itself", async () => {
    const direct = await harness.metrics({ ROLES: "stream" });
    const numbers = await accountsOfBoth();
    const both = [await client(), await client(direct)];
    for (const one of both) {
      for (const number of numbers) {
        one.subscribe(harness.serverId, number, 0);
        await one.until(() => one.last(number) >= 1);
        await harness.value(number, [100_001, 100_002]);
      }
    }
    for (const one of both) {
      for (const number of numbers) await one.until(() => one.last(number) === 5);
    }
    const [followed, read] = both.map((one) =>
      numbers.map((number) => one.texts.filter((text) => text.includes('"account.metrics"') && text.includes(number))),
    );
    expect(followed).toEqual(read);
    const log = await harness.samplesOf(numbers[0] ?? "");
    expect(followed?.[0]).toEqual(log.map(({ message }) => message.value.toString("utf8")));
    await direct.kill("SIGTERM");
  });

  it("reports which samples can be replayed, and that an account does not exist", async () => {
    const one = await client();
    const [number = ""] = await accountsOfBoth();
    await harness.value(number, [2, 3, 4]);
    await harness.value(number, [5]);
    one.subscribe(harness.serverId, number);
    await one.until(() => one.last(number) === 5);
    one.subscribe(harness.serverId, number, 2);
    await one.until(() => one.frames("account.metrics.replay").length === 1);
    expect(one.frames("account.metrics.replay")[0]).toMatchObject({
      firstAvailableSequence: 1,
      lastAvailableSequence: 5,
      replayTruncated: false,
      replayCount: 3,
    });
    const withoutSamples = harness.account();
    one.subscribe(harness.serverId, withoutSamples, 0);
    await one.until(() => one.frames("account.metrics.replay").length === 2);
    one.subscribe(harness.serverId, "99999999");
    await one.until(() => one.frames("error").length === 1);
    expect(one.frames("error")[0]).toMatchObject({ code: "ACCOUNT_NOT_FOUND", accountNumber: "99999999" });
    await harness.value(withoutSamples, [7]);
    await one.until(() => one.last(withoutSamples) === 1);
  });

  it("has no gap while a process that holds its accounts is killed or stopped, and after this process has returned", async () => {
    const one = await client();
    const numbers = await accountsOfBoth();
    for (const number of numbers) one.subscribe(harness.serverId, number, 0);
    for (const number of numbers) await one.until(() => one.last(number) === 1);
    await windows[0]?.kill();
    for (const number of numbers) await harness.value(number, [1, 2, 3]);
    for (const number of numbers) await one.until(() => one.last(number) === 4);
    windows[0] = await harness.metrics(tier(0));
    for (const number of numbers) await harness.value(number, [4, 5]);
    for (const number of numbers) await one.until(() => one.last(number) === 6);
    await windows[1]?.kill("SIGTERM");
    for (const number of numbers) await harness.value(number, [6]);
    for (const number of numbers) await one.until(() => one.last(number) === 7);
    windows[1] = await harness.metrics(tier(1));
    for (const number of numbers) await harness.value(number, [7]);
    for (const number of numbers) {
      await one.until(() => one.last(number) === 8);
      expectGapless(one, number, 8);
    }
  });

  it("continues at another process if the process that holds the account hangs", async () => {
    const one = await client();
    const later = await client();
    const [number = ""] = await accountsOfBoth();
    one.subscribe(harness.serverId, number, 0);
    await one.until(() => one.last(number) === 1);
    windows[0]?.signal("SIGSTOP");
    try {
      await harness.value(number, [1, 2]);
      // As if this client had got sequence 3 from a process that is not behind.
      later.subscribe(harness.serverId, number, 3);
      await delay(SILENCE_MS);
      await one.until(() => one.last(number) === 3);
    } finally {
      windows[0]?.signal("SIGCONT");
    }
    await harness.value(number, [3]);
    for (const client of [one, later]) await client.until(() => client.last(number) === 4);
    expectGapless(one, number, 4);
    expect(later.sequences(number)).toEqual([4]);
    expect(later.frames("account.metrics.replay")).toMatchObject([{ replayTruncated: false, replayCount: 0 }]);
  });

  it("keeps sockets open while no process holds their accounts, and then sends the samples of that time", async () => {
    const one = await client();
    const numbers = await accountsOfBoth();
    for (const number of numbers) one.subscribe(harness.serverId, number, 0);
    for (const number of numbers) await one.until(() => one.last(number) === 1);
    await Promise.all(windows.map((process) => process.kill()));
    for (const number of numbers) await harness.value(number, [1, 2, 3]);
    expect((await fetch(`${stream.url}/readyz`)).ok).toBe(false);
    windows = await Promise.all([harness.metrics(tier(0)), harness.metrics(tier(1))]);
    for (const number of numbers) {
      await one.until(() => one.last(number) === 4);
      expectGapless(one, number, 4);
    }
  });

  it("ends the subscriptions of a deleted account", async () => {
    const one = await client();
    const [, number = ""] = await accountsOfBoth();
    one.subscribe(harness.serverId, number, 0);
    await one.until(() => one.last(number) === 1);
    // The deletion is sent to `windows[0]`, which holds this account only as a replica.
    const params = { serverId: harness.serverId, accountNumber: number };
    await call(windows[0], "account", (client) => callRoute(client, METRICS_ROUTES.deleteAccount, { params }));
    await one.until(() => one.frames("account.deleted").length === 1);
    one.subscribe(harness.serverId, number);
    await one.until(() => one.frames("error").length === 1);
  });
});

describe("the windows processes", () => {
  it("return the newest samples of all accounts, whichever process is asked", async () => {
    const numbers = await accountsOfBoth();
    const one = await client();
    for (const number of numbers) one.subscribe(harness.serverId, number, 0);
    for (const number of numbers) await one.until(() => one.last(number) === 1);
    for (const process of windows) {
      const body = { serverId: harness.serverId, accountNumbers: [...numbers, "99999999"] };
      const { samples } = await call(process, "account", (client) =>
        callRoute(client, METRICS_ROUTES.readLatestSamples, { body }),
      );
      expect(samples.map((sample) => sample?.accountNumber)).toEqual([...numbers, undefined]);
    }
  });

  it("serve windows only to metrics processes", async () => {
    const path = METRICS_ROUTES.followWindows.path;
    const handshake = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    const statusOf = (headers: Readonly<Record<string, string>>): Promise<number> =>
      new Promise((resolve, reject) => {
        const sent = request(`${windows[0]?.url}${path}`, { headers: { ...handshake, ...headers } });
        sent.on("response", (response) => resolve(response.statusCode ?? 0));
        sent.on("upgrade", (_response, socket) => {
          socket.destroy();
          resolve(101);
        });
        sent.on("error", reject).end();
      });
    expect(await statusOf({})).toBe(401);
    expect(await statusOf(tokenOf("account"))).toBe(401);
    expect(await statusOf(tokenOf("metrics"))).toBe(101);
  });

  it("hold only their own partitions if WINDOWS_REPLICA is off", async () => {
    const [own = "", other = ""] = await accountsOfBoth();
    const alone = await harness.metrics({
      ...tier(0),
      HTTP_PORT: String((await harness.freePorts(1))[0]),
      WINDOWS_REPLICA: "off",
    });
    const accounts = [own, other].map((accountNumber) => ({ serverId: harness.serverId, accountNumber }));
    await eventually(async () => {
      const samples = await call(alone, "metrics", (client) =>
        callRoute(client, METRICS_ROUTES.readHeldSamples, { body: { accounts } }),
      );
      expect(samples.samples.map((sample) => sample?.accountNumber)).toEqual([own, undefined]);
    });
    await alone.kill();
  });
});
