import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

import { TOPICS } from "@kapi/contracts";
import { startProducer } from "@kapi/kafka";
import { assert } from "@kapi/kernel";
import { eventually, keyEntry } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { type Answer, call, type CallOptions, createdAccount, deposit, getWallet } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

/** If one dependency is down, the response to a read arrives within this time (decisions, 1.5). */
const ANSWER_WITHIN_MS = 5_000;
/** No serializer writes this JSON, so it shows that the response is passed on unchanged. */
const BYTES = '{ "whatever":\t"the owner wrote", "n": 1.50 }';

let platform: Platform;
let organization: Organization;
let accountNumber: string;

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(1_000_000);
  accountNumber = await createdAccount(platform.url, organization);
});
afterAll(() => platform.stop());

/** An owner with a configurable response, and the requests that it received. */
interface Owner {
  readonly url: string;
  readonly asked: string[];
  answer: (request: IncomingMessage, response: ServerResponse) => void;
}

const servers: Server[] = [];
let owner: Owner;
let gateway: string;

/** Starts a gateway that calls `url` in place of every owner. */
function startGateway(url: string): Promise<string> {
  return platform.gateway({
    ACCOUNT_URL: url,
    COMMAND_STATUS_URL: url,
    FINANCE_URL: url,
    METRICS_URL: url,
    ORGANIZATION_URL: url,
    RISK_URL: url,
    WEBHOOKS_URL: url,
  });
}

beforeAll(async () => {
  const server = createServer((request, response) => {
    owner.asked.push(`${request.method} ${request.url}`);
    request.resume();
    // The gateway sends this request before a deletion and before a read of transactions.
    if (request.url === "/internal/accounts/existing") {
      response.writeHead(200, { "content-type": "application/json" }).end('{"existing":[true]}');
    } else owner.answer(request, response);
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object", "the test server has no port");
  owner = { url: `http://127.0.0.1:${address.port}`, asked: [], answer: says(200, BYTES) };
  gateway = await startGateway(owner.url);
});
beforeEach(() => {
  owner = { url: owner.url, asked: [], answer: says(200, BYTES) };
});
afterEach(() => {
  for (const server of servers) server.closeAllConnections();
});
afterAll(() => {
  for (const server of servers) server.close();
});

function says(status: number, body: string): Owner["answer"] {
  return (_request, response) => response.writeHead(status, { "content-type": "application/json" }).end(body);
}

const serverPath = (): string => `servers/${organization.server.serverId}`;
const accountPath = (): string => `${serverPath()}/accounts/${accountNumber}`;

/** Calls the gateway and returns the text of the response. */
async function read(path: string): Promise<{ status: number; text: string; charged: string | null }> {
  const headers = { authorization: `Management ${organization.managementKey}` };
  const answer = await fetch(`${gateway}/api/v1/management/${path}`, { headers });
  return { status: answer.status, text: await answer.text(), charged: answer.headers.get("x-credits-charged") };
}

interface Read {
  readonly name: string;
  readonly path: () => string;
  /** The last request that the owner receives. */
  readonly asks: () => string;
  /** Error statuses that the operation has. */
  readonly errors: readonly (400 | 404)[];
}

const internal = (): string => `/internal/servers/${organization.server.serverId}`;
const READS: readonly Read[] = [
  {
    name: "listTradingAccountTransactions",
    path: () => `${accountPath()}/transactions?page=2&limit=7&nonsense=1`,
    asks: () => `GET ${internal()}/accounts/${accountNumber}/transactions?page=2&limit=7`,
    errors: [400, 404],
  },
  {
    name: "listTradingAccountOrders",
    path: () => `${accountPath()}/orders`,
    asks: () => `GET ${internal()}/accounts/${accountNumber}/orders?limit=20`,
    errors: [400, 404],
  },
  {
    name: "listAccountPositions",
    path: () => `${accountPath()}/positions?status=open&limit=1`,
    asks: () => `GET ${internal()}/accounts/${accountNumber}/positions?limit=1&status=open`,
    errors: [400, 404],
  },
  {
    name: "listAccountDeals",
    path: () => `${accountPath()}/deals?limit=100`,
    asks: () => `GET ${internal()}/accounts/${accountNumber}/deals?limit=100`,
    errors: [400, 404],
  },
  {
    name: "listCommands",
    path: () => `${serverPath()}/commands?status=failed&requestId=a%26b&from=2026-01-01T01:00:00%2B01:00`,
    asks: () =>
      `GET ${internal()}/commands?organizationId=${organization.id}&limit=20&status=failed&requestId=a%26b&from=2026-01-01T00%3A00%3A00.000Z`,
    errors: [400],
  },
  {
    name: "listAccountMetrics",
    path: () => `${serverPath()}/account-metrics?accountNumber=${accountNumber}&limit=1`,
    asks: () =>
      `GET ${internal()}/account-metrics?organizationId=${organization.id}&accountNumber=${accountNumber}&limit=1`,
    errors: [400],
  },
  {
    name: "listCreditUsage",
    path: () => "credits/usage?page=3",
    asks: () => `GET /internal/organizations/${organization.id}/credits/usage?page=3&limit=20`,
    errors: [400],
  },
];

describe.each(READS)("$name", ({ path, asks, errors }) => {
  it("passes on the upstream response for the read price, and sends the owner the parsed request", async () => {
    expect(await read(path())).toEqual({ status: 200, text: BYTES, charged: "1" });
    expect(owner.asked.at(-1)).toBe(asks());
  });

  it("answers an owner's 404 with 404 if the operation has this status, and with a free 500 if not; answers an owner's 400 without issues with a free 500; answers a wrong limit with 400", async () => {
    const [base = ""] = path().split("?");
    owner.answer = says(404, '{"error":"theirs"}');
    const missing = await call(gateway, organization, path());
    expect(missing).toMatchObject(
      errors.includes(404)
        ? { status: 404, charged: 1, body: { error: "Trading account not found" } }
        : { status: 500, charged: 0, body: { error: "Internal server error" } },
    );
    owner.answer = says(400, '{"error":"theirs"}');
    expect(await call(gateway, organization, path())).toMatchObject({ status: 500, charged: 0 });
    expect(await call(gateway, organization, `${base}?limit=0`)).toMatchObject({ status: 400, charged: 1 });
    expect(await call(gateway, organization, `${base}?limit=1001`)).toMatchObject({ status: 400, charged: 1 });
    expect(await call(gateway, organization, `${base}?limit=ten`)).toMatchObject({ status: 400, charged: 1 });
  });

  it.each(["silent", "failing"])("is 500 with Retry-After, free and within 5 s, while the owner is %s", async (how) => {
    owner.answer = how === "silent" ? () => undefined : says(503, "{}");
    const before = await getWallet(platform.url, organization);
    const beganAt = Date.now();
    const answer = await call(gateway, organization, path());
    expect(Date.now() - beganAt).toBeLessThan(ANSWER_WITHIN_MS);
    expect(answer).toMatchObject({ status: 500, charged: 0, body: { error: "Internal server error" } });
    expect(answer.headers.get("x-error-code")).toBe("DEPENDENCY_UNAVAILABLE");
    expect(answer.headers.get("retry-after")).toBe("1");
    expect((await getWallet(platform.url, organization)).availableCredits).toBe(before.availableCredits - 1);
  });
});

it("the prices in force are returned for the read price, without a call to an owner", async () => {
  const answer = await call(gateway, organization, "credits/prices");
  const prices = { read: 1, mutation: 5, create: 10, bulkItem: 10, export: 20, liveConnection: 1 };
  expect(answer).toMatchObject({ status: 200, charged: 1, body: { prices } });
  expect(owner.asked).toEqual([]);
});

type Change = (options?: CallOptions) => Promise<Answer<unknown>>;

describe.each<{ name: string; change: Change }>([
  {
    name: "updateServerConfiguration",
    change: (options) =>
      call(gateway, organization, `${serverPath()}/configuration`, {
        method: "PATCH",
        body: { defaultLeverage: 100 },
        ...options,
      }),
  },
  {
    name: "deleteTradingAccountImmediately",
    change: (options) => call(gateway, organization, accountPath(), { method: "DELETE", ...options }),
  },
])("$name", ({ change }) => {
  it("is made by the owner within the request, for the price of a mutation", async () => {
    const answer = await change();
    expect(answer).toMatchObject({ status: 200, charged: 5, body: { whatever: "the owner wrote" } });
  });

  it("is 500 with Retry-After and free if the owner fails", async () => {
    const before = await getWallet(platform.url, organization);
    owner.answer = says(503, "{}");
    const answer = await change();
    expect(answer).toMatchObject({ status: 500, charged: 0, remaining: before.availableCredits });
    expect(answer.headers.get("retry-after")).toBe("1");
  });

  it("of another organization's server, or without the scope, is 403 and calls no owner", async () => {
    const { entry, managementKey } = keyEntry({ organizationId: organization.id, scopes: ["accounts:read"] });
    await platform.publish(entry);
    await eventually(async () => {
      const refused = await change({ managementKey });
      expect(refused).toMatchObject({ status: 403, charged: 0 });
      expect(refused.headers.get("x-error-code")).toBe("MISSING_SCOPE");
    });
    const stranger = await platform.organization(10);
    const theirs = { authorization: `Management ${stranger.managementKey}` };
    expect(await change({ managementKey: null, headers: theirs })).toMatchObject({ status: 403, charged: 0 });
    expect(owner.asked).toEqual([]);
  });
});

it("the public keys of evidence need no management key, are cached after the first success, and are served while the risk service fails", async () => {
  const read = (): Promise<Response> => fetch(`${gateway}/.well-known/kapi-evidence-keys.json`);
  owner.answer = says(503, "{}");
  const unavailable = await read();
  expect([unavailable.status, unavailable.headers.get("retry-after")]).toEqual([500, "1"]);
  owner.answer = says(200, BYTES);
  const answer = await read();
  expect([answer.status, await answer.text(), answer.headers.get("x-credits-charged")]).toEqual([200, BYTES, "0"]);
  expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
  expect(owner.asked).toEqual(["GET /internal/evidence-keys", "GET /internal/evidence-keys"]);
  owner.answer = says(503, "{}");
  const headers = { "if-none-match": answer.headers.get("etag") ?? "" };
  const again = await fetch(`${gateway}/.well-known/kapi-evidence-keys.json`, { headers });
  expect([again.status, await (await read()).text(), owner.asked.length]).toEqual([304, BYTES, 2]);
});

describe("an update of the server's configuration", () => {
  const update = (body: unknown, caller = organization): Promise<Answer<unknown>> =>
    call(gateway, caller, `servers/${caller.server.serverId}/configuration`, { method: "PATCH", body });

  it.each([
    [{}, "supportedLeverage"],
    [{ supportedLeverage: [] }, "supportedLeverage"],
    [{ supportedLeverage: [1, 1] }, "supportedLeverage"],
    [{ supportedLeverage: [0] }, "supportedLeverage"],
    [{ supportedLeverage: Array.from({ length: 101 }, (_, index) => index + 1) }, "supportedLeverage"],
    [{ defaultLeverage: 10_001 }, "defaultLeverage"],
    [{ currency: "EUR" }, "currency"],
  ])("with %j is 400 for the read price, and calls no owner", async (body, field) => {
    const answer = await update(body);
    expect(answer).toMatchObject({ status: 400, charged: 1, body: { issues: [{}] } });
    expect((answer.body as { issues: { path: string[] }[] }).issues[0]?.path[0]).toBe(field);
    expect(owner.asked).toEqual([]);
  });

  it("that the owner rejects is 400 with the owner's issues, for the read price", async () => {
    const issues = [{ path: ["defaultLeverage"], code: "custom", message: "must be supported" }];
    owner.answer = says(400, JSON.stringify({ error: "Invalid request", issues }));
    const before = await getWallet(platform.url, organization);
    const answer = await update({ defaultLeverage: 7 });
    expect(answer).toMatchObject({ status: 400, charged: 1, body: { error: "Invalid request", issues } });
    expect(answer.remaining).toBe(before.availableCredits - 1);
    const wallet = await getWallet(platform.url, organization);
    expect(wallet.availableCredits + wallet.reservedCredits + wallet.lifetimeConsumed).toBe(wallet.lifetimePurchased);
  });

  it("counts once for the rate limit, also if its price is replaced by the read price", async () => {
    const slow = await platform.organization(100);
    await platform.publish({ ...slow.key, version: 2, rateLimit: { perSecond: 0.01, burst: 2 } });
    await expect.poll(async () => (await call(gateway, slow, "nothing")).status, { timeout: 5_000 }).toBe(404);
    owner.answer = says(400, JSON.stringify({ error: "Invalid request", issues: [] }));
    const statuses: number[] = [];
    await expect
      .poll(
        async () => {
          const answer = await update({ defaultLeverage: 7 }, slow);
          statuses.push(answer.status);
          return answer.status;
        },
        { timeout: 5_000 },
      )
      .toBe(429);
    expect(statuses.slice(-3)).toEqual([400, 400, 429]);
  });
});

it("a save of a webhook above the organization's share is 429 with Retry-After, and costs nothing", async () => {
  const headers = { "x-error-code": "TOO_MANY_CONCURRENT_REQUESTS", "retry-after": "1" };
  owner.answer = (_request, response) => {
    response.writeHead(429, { "content-type": "application/json", ...headers });
    response.end('{"error":"Too many concurrent requests"}');
  };
  const before = await getWallet(platform.url, organization);
  const answer = await call(gateway, organization, "webhooks", { body: { url: "https://hooks.example.com/" } });
  expect(answer).toMatchObject({ status: 429, charged: 0, remaining: before.availableCredits });
  expect(answer.body).toMatchObject({ error: "Too many concurrent requests" });
  for (const [name, value] of Object.entries(headers)) expect(answer.headers.get(name)).toBe(value);
});

describe("an immediate deletion", () => {
  it("of an account that never existed is 400 ACCOUNT_NOT_FOUND, for the read price", async () => {
    owner.answer = says(404, '{"error":"Trading account not found"}');
    const answer = await call(gateway, organization, accountPath(), { method: "DELETE" });
    expect(answer).toMatchObject({ status: 400, charged: 1, body: { error: "Trading account not found" } });
    expect(answer.headers.get("x-error-code")).toBe("ACCOUNT_NOT_FOUND");
  });

  it("may take longer than other requests, because it waits up to 5 s for the account's running command", async () => {
    owner.answer = (_request, response) => {
      setTimeout(() => says(200, '{"accountNumber":"10000001","deleted":true}')(_request, response), 6_000);
    };
    expect((await call(gateway, organization, accountPath(), { method: "DELETE" })).status).toBe(200);
  });
});

/**
 * A gateway with a stand-in account service that returns `existing`, and a command-status without
 * commands.
 */
async function gatewayWithAccounts(existing: () => object): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    const found = request.url === "/internal/accounts/existing" ? existing() : { commands: [null] };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found));
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object", "the test server has no port");
  const standIn = `http://127.0.0.1:${address.port}`;
  return platform.gateway({ ACCOUNT_URL: standIn, COMMAND_STATUS_URL: standIn });
}

const depositAt = (url: string, account: string): ReturnType<typeof deposit> =>
  deposit(url, organization, account, randomUUID(), { amount: 0.01, requestId: "r" });

describe("the id of an account", () => {
  it("is not cached while the account service is of release 0.1.0, which returns no ids", async () => {
    const account = await createdAccount(platform.url, organization);
    const id = randomUUID();
    let response: object = { existing: [true] };
    const caching = await gatewayWithAccounts(() => response);
    const accepted = async (): Promise<unknown> => (await depositAt(caching, account)).body.command.managedAccountId;
    expect(await accepted()).toBeNull();
    response = { existing: [true], ids: [id] };
    expect(await accepted()).toBe(id);
    response = { existing: [false], ids: [null] };
    expect(await accepted()).toBe(id);
  });
});

describe("an account that was deleted", () => {
  const statusOfDeposit = async (url: string, account: string): Promise<number> =>
    (await depositAt(url, account)).status;

  it("is 404 at a gateway that has cached it, after the gateway has read the event of the deletion", async () => {
    const account = await createdAccount(platform.url, organization);
    let id: string | null = randomUUID();
    const caching = await gatewayWithAccounts(() => ({ existing: [id !== null], ids: [id] }));
    expect(await statusOfDeposit(caching, account)).toBe(202);
    id = null;
    expect(await statusOfDeposit(caching, account)).toBe(202);
    const producer = await startProducer(platform.kafka);
    const { serverId } = organization.server;
    const event = { type: "account.deleted", serverId, accountNumber: account };
    await producer.value.send(TOPICS.accountEvents, { key: `${serverId}/${account}`, value: JSON.stringify(event) });
    await producer.stop();
    await expect.poll(() => statusOfDeposit(caching, account), { timeout: 5_000 }).toBe(404);
  });
});
