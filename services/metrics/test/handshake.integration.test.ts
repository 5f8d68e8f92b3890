import { LIVE_METRICS_PATH } from "@kapi/contracts";
import { syncShard, revokeKey, shardOf } from "@kapi/admission/redis";
import { eventually, keyEntry } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { clientFrame, type HandshakeAnswer, type HandshakeParts, RawClient } from "./raw-client.ts";
import { type MetricsProcess, Harness } from "./harness.ts";

let harness: Harness;
let metrics: MetricsProcess;
const clients: RawClient[] = [];

beforeAll(async () => {
  harness = await Harness.start();
  metrics = await harness.metrics();
});

afterAll(async () => {
  for (const client of clients) client.close();
  await harness.scope.stop();
});

async function handshake(
  parts: HandshakeParts = {},
  managementKey: string | null = harness.managementKey,
): Promise<HandshakeAnswer> {
  const { client, answer } = await RawClient.handshake(metrics.wsUrl, managementKey, parts);
  clients.push(client);
  if (answer.status !== 101) expect(await client.closed()).toBeNull();
  return answer;
}

/** Creates a key of this organization, and waits until the metrics process has it. */
async function newKey(change: Parameters<typeof keyEntry>[0] = {}): Promise<string> {
  const { entry, managementKey } = keyEntry({ organizationId: harness.organizationId, ...change });
  await harness.putDirectory(entry);
  // A request with POST is rejected, so nothing is charged.
  await eventually(async () => expect((await handshake({ method: "POST" }, managementKey)).status).not.toBe(401));
  return managementKey;
}

describe("a handshake", () => {
  it("is accepted with an unknown query, and the messages sent with the handshake are read", async () => {
    const path = `${LIVE_METRICS_PATH}?since=1&since=2`;
    const { client, answer } = await RawClient.handshake(metrics.wsUrl, harness.managementKey, {
      path,
      headers: { "x-request-id": "mine-1", upgrade: "WebSocket" },
      behind: Buffer.concat([clientFrame("ping"), clientFrame("{")]),
    });
    clients.push(client);
    expect(answer).toMatchObject({
      status: 101,
      headers: { "x-request-id": "mine-1", "x-credits-charged": "1" },
    });
    expect(answer.headers).not.toHaveProperty("sec-websocket-extensions");
    await client.until(() => client.texts.length === 3);
    expect(client.texts[0]).toContain('"type":"connected"');
    expect(client.texts[1]).toBe("pong");
    expect(client.texts[2]).toContain("INVALID_MESSAGE");
  });

  it.each<[string, HandshakeParts]>([
    ["another method", { method: "POST" }],
    ["no WebSocket key", { headers: { "sec-websocket-key": null } }],
    ["a WebSocket key that is too short", { headers: { "sec-websocket-key": "YWJj" } }],
    ["no version", { headers: { "sec-websocket-version": null } }],
    ["version 8", { headers: { "sec-websocket-version": "8" } }],
    ["two versions", { headers: { "sec-websocket-version": "13, 8" } }],
    ["another protocol", { headers: { upgrade: "h2c" } }],
    ["an empty subprotocol header", { headers: { "sec-websocket-protocol": "" } }],
    ["a subprotocol that is no token", { headers: { "sec-websocket-protocol": "a b" } }],
    ["the same subprotocol twice", { headers: { "sec-websocket-protocol": "a, a" } }],
  ])("with %s returns 400 with the supported version", async (_name, parts) => {
    expect(await handshake(parts)).toMatchObject({
      status: 400,
      headers: { "x-error-code": "VALIDATION_FAILED", "sec-websocket-version": "13" },
      body: { error: "Not a WebSocket handshake" },
    });
  });

  it.each<[string, HandshakeParts]>([
    ["to another path", { path: "/api/v1/management/live" }],
    ["to a path below the live path", { path: `${LIVE_METRICS_PATH}/` }],
    ["without an upgrade", { headers: { connection: "close", upgrade: null } }],
  ])("%s returns 404", async (_name, parts) => {
    expect(await handshake(parts)).toMatchObject({
      status: 404,
      headers: { "x-error-code": "NOT_FOUND" },
      body: { error: "Not found" },
    });
  });

  it("without a key, or with an unknown, wrong, revoked or expired key, returns the same 401", async () => {
    const expired = keyEntry({ organizationId: harness.organizationId, expiresAt: "2020-01-01T00:00:00.000Z" });
    const revoked = keyEntry({ organizationId: harness.organizationId, status: "revoked" });
    for (const { entry } of [expired, revoked]) await harness.putDirectory(entry);
    // Redis already rejects this key; the directory does not have the revocation yet.
    const revokedNow = await newKey();
    await revokeKey(harness.redis, harness.organizationId, revokedNow.split(".")[1] ?? "");
    const wrong = `${harness.managementKey.slice(0, -4)}AAAA`;
    const keys = [null, "", "key", wrong, keyEntry().managementKey, expired.managementKey, revoked.managementKey];
    const answers = [];
    for (const key of [...keys, revokedNow]) answers.push(await handshake({}, key));
    answers.push(await handshake({ headers: { authorization: `Bearer ${harness.managementKey}` } }));
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 401,
        headers: {
          "x-error-code": "AUTHENTICATION_REQUIRED",
          "content-type": "application/json; charset=utf-8",
          "x-credits-charged": "0",
        },
      });
      expect(answer.headers).not.toHaveProperty("x-credits-remaining");
      expect(answer.body).toMatchObject({
        error: "Management API authentication required",
        code: "AUTHENTICATION_REQUIRED",
      });
      expect(answer.headers["x-request-id"]).toMatch(/./);
    }
  });

  it("with a key without the scope returns 403, also if other parts are invalid", async () => {
    const scopeless = await newKey({ scopes: ["accounts:read"] });
    for (const parts of [{}, { method: "POST" }]) {
      expect(await handshake(parts, scopeless)).toMatchObject({
        status: 403,
        headers: {
          "x-error-code": "MISSING_SCOPE",
          "x-credits-charged": "0",
          "x-credits-remaining": expect.stringMatching(/^[1-9][0-9]*$/),
        },
        body: { error: "Missing API scope: metrics:read" },
      });
    }
  });

  it("without enough credits returns 402, also for an organization without a wallet", async () => {
    const [poor, walletless] = [keyEntry(), keyEntry()];
    for (const { entry } of [poor, walletless]) await harness.putDirectory(entry);
    await harness.buy(poor.entry.organizationId, 1);
    await syncShard(harness.redis, shardOf(walletless.entry.organizationId), 1, []);
    for (const { managementKey } of [poor, walletless]) {
      await eventually(async () => expect((await handshake({ method: "POST" }, managementKey)).status).toBe(400));
    }
    expect(await handshake({}, poor.managementKey)).toMatchObject({
      status: 101,
      headers: { "x-credits-charged": "1", "x-credits-remaining": "0" },
    });
    for (const { managementKey } of [poor, walletless]) {
      expect(await handshake({}, managementKey)).toMatchObject({
        status: 402,
        headers: { "x-error-code": "INSUFFICIENT_CREDITS" },
        body: { error: "Insufficient API credits" },
      });
    }
  });

  it("above the key's rate limit returns 429 with Retry-After, and costs nothing", async () => {
    const limited = await newKey({ rateLimit: { perSecond: 0.01, burst: 2 } });
    const open = [await handshake({}, limited), await handshake({}, limited)];
    expect(open).toMatchObject([{ status: 101 }, { status: 101 }]);
    const rejected = await handshake({}, limited);
    expect(rejected).toMatchObject({
      status: 429,
      headers: { "x-error-code": "RATE_LIMITED" },
      body: { error: "Rate limit exceeded" },
    });
    expect(Number(rejected.headers["retry-after"])).toBeGreaterThan(0);
    const next = await handshake();
    const spent = Number(open[1]?.headers["x-credits-remaining"]) - Number(next.headers["x-credits-remaining"]);
    expect(spent).toBe(1);
  });

  it("costs one credit, and returns the charged and the remaining credits in headers", async () => {
    const first = await handshake();
    expect(first.headers["x-credits-charged"]).toBe("1");
    const second = await handshake();
    const remaining = [first, second].map(({ headers }) => Number(headers["x-credits-remaining"]));
    expect(remaining[1]).toBe((remaining[0] ?? 0) - 1);
  });

  it("is rejected above the organization's maximum number of sockets, until one is closed", async () => {
    const narrow = await harness.metrics({ MAX_SOCKETS_PER_ORGANIZATION: "2", ROLES: "stream" });
    const open = [
      await RawClient.open(narrow.wsUrl, harness.managementKey),
      await RawClient.open(narrow.wsUrl, harness.managementKey),
    ];
    clients.push(...open);
    const { answer } = await RawClient.handshake(narrow.wsUrl, harness.managementKey);
    expect(answer).toMatchObject({
      status: 403,
      headers: { "x-error-code": "TOO_MANY_CONNECTIONS" },
      body: { error: "Too many live connections for this organization" },
    });
    open[0]?.close();
    await eventually(async () => void clients.push(await RawClient.open(narrow.wsUrl, harness.managementKey)));
    await narrow.kill();
  });
});
