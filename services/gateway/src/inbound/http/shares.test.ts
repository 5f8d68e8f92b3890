import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";

import type { Admission, Admitted } from "@kapi/admission";
import type { KeyEntry, ServerEntry } from "@kapi/contracts";
import { createHttpServer, startInternalClient, startListening } from "@kapi/http";
import type { InternalClient, OrganizationShare } from "@kapi/http";
import { assert, OrganizationSlots, systemClock } from "@kapi/kernel";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { keyEntry, serverEntry } from "@kapi/testkit";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { createOperations } from "../../operations/operations.ts";
import type { Dependencies } from "../../operations/dependencies.ts";
import { createAccounts } from "../../outbound/http/accounts.ts";
import { createCommandStatus } from "../../outbound/http/command-status.ts";
import { registerOperationRoutes } from "./routes.ts";

/** Share of an organization here: of lists, of searches, of calls to the owner, and of waits. */
const SHARE = 2;
/** Deadline of streams and of calls to the owner, in milliseconds: longer than any test. */
const DEADLINE_MS = 600_000;
/** Deadline of a stream in the test of that deadline, in milliseconds. */
const SHORT_STREAM_MS = 200;
/** Time limit for a state that must come, also on a busy machine, in milliseconds. */
const EVENTUALLY_MS = 30_000;
/**
 * Time in which a wait must end after a disconnect, in milliseconds. It is below WAIT_SLICE_MS
 * (`operations/wait.ts`), after which a call that waits ends by itself.
 */
const SOON_MS = 4_500;
vi.setConfig({ testTimeout: 2 * EVENTUALLY_MS });
const JSON_HEADERS = { "content-type": "application/json" };
const CHUNK = Buffer.alloc(64 * 1024, " ");

/** A request that the owner received. It is open until its response is complete or interrupted. */
interface OwnerRequest {
  readonly path: string;
  readonly response: ServerResponse;
  isOpen: boolean;
}

interface Organization {
  readonly key: KeyEntry;
  readonly managementKey: string;
  readonly server: ServerEntry;
}

let scope: Scope;
let owner: Server;
let ownerUrl: string;
let ownerRequests: OwnerRequest[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let url: string;
let one: Organization;
let other: Organization;

const admit = vi.fn<Admission["admit"]>();
const refund = vi.fn<Admission["refund"]>();

function organization(): Organization {
  const organizationId = randomUUID();
  const { entry, managementKey } = keyEntry({ organizationId });
  return { key: entry, managementKey, server: serverEntry({ organizationId }) };
}

beforeEach(async () => {
  admit.mockReset().mockResolvedValue({ charged: 1, remaining: 99 } as unknown as Admitted);
  refund.mockReset().mockResolvedValue({ credits: 1, remaining: 100 });
  [one, other] = [organization(), organization()];
  ownerRequests = [];
  owner = createServer((request, response) => {
    const entry: OwnerRequest = { path: String(request.url), response, isOpen: true };
    ownerRequests.push(entry);
    response.once("close", () => {
      entry.isOpen = false;
    });
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(owner, "listening");
  const address = owner.address();
  assert(address !== null && typeof address === "object", "the server has no TCP port");
  ownerUrl = `http://127.0.0.1:${address.port}`;
  scope = new Scope();
  url = await startGateway();
});
afterEach(async () => {
  owner.closeAllConnections();
  owner.close();
  await scope.stop();
});

/** Starts the gateway's routes with one stand-in for all services. */
async function startGateway(maxStreamMs = DEADLINE_MS): Promise<string> {
  const client = (organizationShare?: OrganizationShare): Promise<InternalClient> => {
    const options = { baseUrl: ownerUrl, credentials: {}, timeoutMs: DEADLINE_MS };
    return scope.start("client", () =>
      startInternalClient(organizationShare === undefined ? options : { ...options, organizationShare }),
    );
  };
  const logger = createLogger({ service: "test", level: "silent" });
  const known = [one, other];
  const directory = {
    key: (id: string) => known.find(({ key }) => key.keyId === id)?.key,
    server: (id: string) => known.find(({ server }) => server.serverId === id)?.server,
    prices: () => ({ read: 1 }),
  };
  const commandStatus = createCommandStatus({
    client: await client(),
    waitingClient: await client(),
    lookUpTimeoutMs: DEADLINE_MS,
  });
  const dependencies = {
    prices: directory.prices,
    admission: { recordedMessage: () => Promise.resolve(null) },
    accounts: createAccounts(await client({ connections: SHARE, waitingCalls: SHARE }), {
      checkTimeoutMs: DEADLINE_MS,
      deleteTimeoutMs: DEADLINE_MS,
      organizationOf: (serverId) => directory.server(serverId)?.organizationId,
    }),
    commandStatus,
    clock: systemClock,
    isStopping: () => false,
    streams: new OrganizationSlots({ perOrganization: SHARE }),
    searches: new OrganizationSlots({ perOrganization: SHARE }),
    waits: new OrganizationSlots({ perOrganization: SHARE, total: 3 }),
  } as unknown as Dependencies;
  const app = createHttpServer({ logger, health: new Health(), bodyErrors: "when-parsed" });
  const wallets = { available: () => Promise.resolve(100) };
  const routeDependencies = {
    directory,
    admission: { admit, refund },
    refunds: { add: () => undefined },
    requestLog: { add: () => undefined },
    wallets,
    clock: systemClock,
    logger,
    isStopping: () => false,
    maxStreamMs,
  } as unknown as Parameters<typeof registerOperationRoutes>[1];
  registerOperationRoutes(app, routeDependencies, createOperations(dependencies));
  return (await scope.start("http", () => startListening(app, { host: "127.0.0.1", port: 0 }))).url;
}

const listPath = ({ server }: Organization): string => `/api/v1/management/servers/${server.serverId}/accounts`;
const authorization = ({ managementKey }: Organization): string => `Management ${managementKey}`;

/** Opens a response without reading its body, like a slow reader. */
async function open(of: Organization, path: string): Promise<IncomingMessage> {
  const request = get(`${url}${path}`, { headers: { authorization: authorization(of) }, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.on("error", () => undefined);
  return response;
}

function call(of: Organization, path: string): Promise<Response> {
  return fetch(`${url}${path}`, { headers: { authorization: authorization(of) } });
}

/** Writes without end, as fast as the gateway reads. */
function endless(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, JSON_HEADERS);
  const more = (): void => {
    while (!response.destroyed) if (!response.write(CHUNK)) return void response.once("drain", more);
  };
  more();
}

const openAtOwner = (): number => ownerRequests.filter(({ isOpen }) => isOpen).length;
const closedAtOwner = (): Promise<unknown> => expect.poll(openAtOwner, { timeout: EVENTUALLY_MS }).toBe(0);

async function expectTooMany(refused: Response): Promise<void> {
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ error: "Too many concurrent requests" });
  expect(refused.headers.get("x-error-code")).toBe("TOO_MANY_CONCURRENT_REQUESTS");
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(refused.headers.get("x-credits-charged")).toBe("0");
}

describe("a streamed list", () => {
  it("is charged as a read if the caller disconnects during the response", async () => {
    answer = endless;
    const response = await open(one, listPath(one));
    await once(response, "readable");
    response.destroy();
    await closedAtOwner();
    expect(admit).toHaveBeenCalledOnce();
    expect(refund).not.toHaveBeenCalled();
  });

  it("is charged as a read if the caller disconnects before the first byte", async () => {
    const heads: (() => void)[] = [];
    answer = (request, response) => void heads.push(() => endless(request, response));
    const request = get(`${url}${listPath(one)}`, { headers: { authorization: authorization(one) }, agent: false });
    request.on("error", () => undefined);
    await expect.poll(() => heads.length, { timeout: EVENTUALLY_MS }).toBe(1);
    const closed = new Promise((resolve) => request.once("close", resolve));
    request.destroy();
    await closed;
    for (const head of heads) head();
    await closedAtOwner();
    expect(admit).toHaveBeenCalledOnce();
    expect(refund).not.toHaveBeenCalled();
  });

  it("costs nothing if its owner interrupts it", async () => {
    answer = (_request, response) => {
      response.writeHead(200, JSON_HEADERS).write(CHUNK, () => response.destroy());
    };
    await expect(call(one, listPath(one)).then((broken) => broken.text())).rejects.toThrow();
    expect(refund).toHaveBeenCalledOnce();
  });

  it("ends at its deadline, also while its caller reads slowly, and is charged as a read", async () => {
    answer = endless;
    url = await startGateway(SHORT_STREAM_MS);
    const response = await open(one, listPath(one));
    const closed = new Promise((resolve) => response.once("close", resolve));
    const trickle = setInterval(() => response.read(10), 50);
    await closedAtOwner();
    clearInterval(trickle);
    response.resume();
    await closed;
    expect(response.complete).toBe(false);
    expect(refund).not.toHaveBeenCalled();
  });

  it("is 429 and free above the organization's share; other organizations and other reads are not affected", async () => {
    answer = endless;
    const slow = await Promise.all(Array.from({ length: SHARE }, () => open(one, listPath(one))));
    await expectTooMany(await call(one, listPath(one)));
    expect(admit).toHaveBeenCalledTimes(SHARE);
    const theirs = await open(other, listPath(other));
    expect(theirs.statusCode).toBe(200);
    theirs.destroy();
    answer = (_request, response) => response.writeHead(200, JSON_HEADERS).end("{}");
    expect((await call(one, `${listPath(one)}?limit=5`)).status).toBe(200);

    slow[0]?.destroy();
    await expect.poll(openAtOwner, { timeout: EVENTUALLY_MS }).toBe(SHARE - 1);
    expect((await call(one, listPath(one))).status).toBe(200);
    for (const response of slow) response.destroy();
    await closedAtOwner();
  });

  it("of commands that is too large for one response counts for the organization's share too; above the share, its charge is refunded", async () => {
    answer = (request, response) => {
      if (String(request.url).includes("/commands/stream")) endless(request, response);
      else response.writeHead(413, JSON_HEADERS).end("{}");
    };
    const path = `/api/v1/management/servers/${one.server.serverId}/commands`;
    const slow = await Promise.all(Array.from({ length: SHARE }, () => open(one, path)));
    await expectTooMany(await call(one, path));
    expect(refund).toHaveBeenCalledOnce();
    for (const response of slow) response.destroy();
    await closedAtOwner();
  });

  it("releases its slot if the owner fails, interrupts the response or completes it", async () => {
    for (let time = 0; time <= SHARE; time += 1) {
      answer = (_request, response) => response.writeHead(500).end();
      expect((await call(one, listPath(one))).status).toBe(500);
      answer = (_request, response) => {
        response.writeHead(200, JSON_HEADERS).write(CHUNK, () => response.destroy());
      };
      await expect(call(one, listPath(one)).then((broken) => broken.text())).rejects.toThrow();
      answer = (_request, response) => response.writeHead(200, JSON_HEADERS).end("{}");
      expect(await (await call(one, listPath(one))).json()).toEqual({});
    }
  });
});

describe("a search", () => {
  it("is 429 above the organization's share, with or without a page; lists and other organizations are not affected", async () => {
    const held: ServerResponse[] = [];
    answer = (request, response) => {
      if (String(request.url).includes(one.server.serverId) && String(request.url).includes("search"))
        held.push(response);
      else response.writeHead(200, JSON_HEADERS).end("{}");
    };
    const search = (of: Organization): Promise<Response> => call(of, `${listPath(of)}?search=a&limit=5`);
    const running = Array.from({ length: SHARE }, () => search(one));
    await expect.poll(() => held.length, { timeout: EVENTUALLY_MS }).toBe(SHARE);
    await expectTooMany(await search(one));
    await expectTooMany(await call(one, `${listPath(one)}?search=a`));
    expect((await search(other)).status).toBe(200);
    expect((await call(one, listPath(one))).status).toBe(200);
    for (const response of held) response.writeHead(200, JSON_HEADERS).end("{}");
    for (const answered of await Promise.all(running)) expect(answered.status).toBe(200);
    expect(admit).toHaveBeenCalledTimes(SHARE + 2);
  });

  it("that the account service rejects with 429 is 429 and refunded each time, and so is a list", async () => {
    answer = (_request, response) => response.writeHead(429, JSON_HEADERS).end("{}");
    for (let time = 0; time <= SHARE; time += 1) {
      await expectTooMany(await call(one, `${listPath(one)}?search=a&limit=5`));
      await expectTooMany(await call(one, `${listPath(one)}?search=a`));
      await expectTooMany(await call(one, listPath(one)));
    }
    expect(refund).toHaveBeenCalledTimes(3 * (SHARE + 1));
  });
});

describe("details of an account", () => {
  it("use at most the organization's share of calls; further calls wait, too many waiting calls are 429, and other organizations are not affected", async () => {
    const held: ServerResponse[] = [];
    answer = (request, response) => {
      if (String(request.url).includes(one.server.serverId)) held.push(response);
      else response.writeHead(200, JSON_HEADERS).end("{}");
    };
    const read = (of: Organization): Promise<Response> => call(of, `${listPath(of)}/10000001`);
    const reads = Array.from({ length: 2 * SHARE }, () => read(one));
    await expect.poll(() => admit.mock.calls.length, { timeout: EVENTUALLY_MS }).toBe(2 * SHARE);
    await expect.poll(() => held.length, { timeout: EVENTUALLY_MS }).toBe(SHARE);
    await expectTooMany(await read(one));
    expect(refund).toHaveBeenCalledOnce();
    expect((await read(other)).status).toBe(200);
    expect(held).toHaveLength(SHARE);
    answer = (_request, response) => void response.writeHead(200, JSON_HEADERS).end("{}");
    for (const response of held) response.writeHead(200, JSON_HEADERS).end("{}");
    for (const answered of await Promise.all(reads)) expect(answered.status).toBe(200);
  });
});

describe("a wait for a final state", () => {
  const commandId = randomUUID();
  const path = `/api/v1/management/commands/${commandId}?wait=30`;
  const command = (status: string): string => JSON.stringify({ command: { id: commandId, status } });
  const waits = (): OwnerRequest[] => ownerRequests.filter(({ path: at }) => at.endsWith("/wait"));
  const waiting = (): OwnerRequest[] => waits().filter(({ isOpen }) => isOpen);

  /** Reads return a queued command; waits last until the test ends them. */
  function queued(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === "/internal/commands/wait") return;
    void json(request).then((body) => {
      const { reads } = body as { reads: unknown[] };
      response.writeHead(200, { "content-type": "application/x-ndjson" });
      response.end(reads.map(() => `${command("queued")}\n`).join(""));
    });
  }

  function startWait(of: Organization): () => void {
    const request = get(`${url}${path}`, { headers: { authorization: authorization(of) }, agent: false });
    request.on("error", () => undefined);
    return () => void request.destroy();
  }

  async function expectQueuedNow(of: Organization): Promise<void> {
    const now = await call(of, path);
    expect(now.status).toBe(200);
    expect(await now.json()).toEqual({ command: { id: commandId, status: "queued" } });
  }

  it("above the organization's share returns the current command at once; other organizations still wait", async () => {
    answer = queued;
    const leave = Array.from({ length: SHARE }, () => startWait(one));
    await expect.poll(() => waiting().length, { timeout: EVENTUALLY_MS }).toBe(SHARE);
    await expectQueuedNow(one);
    expect(waits()).toHaveLength(SHARE);
    const theirs = call(other, path);
    await expect.poll(() => waiting().length, { timeout: EVENTUALLY_MS }).toBe(SHARE + 1);
    for (const { response } of waiting()) response.writeHead(200, JSON_HEADERS).end(command("succeeded"));
    expect(await (await theirs).json()).toEqual({ command: { id: commandId, status: "succeeded" } });
    for (const end of leave) end();
  });

  it("above the total of the process returns the current command at once", async () => {
    answer = queued;
    const leave = [startWait(one), startWait(one), startWait(other)];
    await expect.poll(() => waiting().length, { timeout: EVENTUALLY_MS }).toBe(leave.length);
    await expectQueuedNow(other);
    expect(waits()).toHaveLength(leave.length);
    for (const end of leave) end();
    await expect.poll(() => waiting().length, { timeout: EVENTUALLY_MS }).toBe(0);
  });

  it("ends when its caller disconnects, at command-status too, and is charged as a read", async () => {
    answer = queued;
    const leave = Array.from({ length: SHARE }, () => startWait(one));
    await expect.poll(() => waiting().length, { timeout: EVENTUALLY_MS }).toBe(SHARE);
    for (const end of leave) end();
    await expect.poll(() => waiting().length, { timeout: SOON_MS }).toBe(0);
    expect(refund).not.toHaveBeenCalled();
    const again = startWait(one);
    await expect.poll(() => waiting().length, { timeout: EVENTUALLY_MS }).toBe(1);
    again();
  });

  it("that command-status rejects with 429 returns the current command at once", async () => {
    answer = (request, response) => {
      if (request.url === "/internal/commands/wait") response.writeHead(429, JSON_HEADERS).end("{}");
      else queued(request, response);
    };
    await expectQueuedNow(one);
    expect(waits()).toHaveLength(1);
  });
});
