/** Half-open connections are detected within 5 s, closed, and replaced. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { startInternalClient } from "@kapi/http";
import { startPool, type Database, isTransient, statement } from "@kapi/postgres";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { TcpProxy } from "@kapi/servers";
import { createTestEnvironment, eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

/** 5 s plus tolerance for a busy machine. */
const DETECTED_WITHIN_MS = 7_000;
const CONNECTIONS = 3;
const logger = createLogger({ service: "test", level: "silent" });
const backend = statement<{ pid: number }>("backend", "select pg_backend_pid() as pid, pg_sleep(0.1)");
const becomeReadOnly = statement<{ pid: number }>(
  "become_read_only",
  "select pg_backend_pid() as pid, set_config('default_transaction_read_only', 'on', false), pg_sleep(0.1)",
);
const write = statement<never>("write", "create table if not exists written (id integer)");

const servers = new Scope();
let scope: Scope;
let postgresUrl: string;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  await servers.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  ({ postgresUrl } = environment);
  scope = new Scope();
});
afterEach(async () => {
  await scope.stop();
  scope = new Scope();
});
afterAll(() => servers.stop());

async function throughProxy(url: string): Promise<{ proxy: TcpProxy; url: string }> {
  const front = await TcpProxy.inFrontOf(url);
  await scope.start("proxy", () => ({ value: null, stop: () => front.proxy.close() }));
  return front;
}

/** Returns the result or error of `work`; fails if `work` takes too long to detect the fault. */
async function outcomeInTime(work: () => Promise<unknown>): Promise<unknown> {
  const startedMs = performance.now();
  const outcome = await work().catch((error: unknown) => error);
  expect(performance.now() - startedMs).toBeLessThan(DETECTED_WITHIN_MS);
  return outcome;
}

describe("PostgreSQL", () => {
  const health = new Health();
  const use = (database: Database) =>
    Promise.all(Array.from({ length: CONNECTIONS }, () => database.query(backend, [])));

  async function open(): Promise<{ database: Database; proxy: TcpProxy }> {
    const { proxy, url: connectionString } = await throughProxy(postgresUrl);
    const database = await scope.start("database", () =>
      startPool({
        connectionString,
        schema: "public",
        applicationName: "half-open",
        max: CONNECTIONS,
        health,
        logger,
      }),
    );
    await use(database);
    return { database, proxy };
  }

  it("is reached over new connections after the open ones froze, and only the first statement fails", async () => {
    const { database, proxy } = await open();
    proxy.freeze();
    expect(await outcomeInTime(() => database.query(backend, []))).toSatisfy(isTransient);
    expect(await outcomeInTime(() => use(database))).toHaveLength(CONNECTIONS);
  });

  it("is reported as unavailable while it does not answer, even without statements, and then as available again", async () => {
    const { database, proxy } = await open();
    expect(health.ready().ok).toBe(true);
    await proxy.blackhole();
    await eventually(() => expect(health.ready().reasons["postgres"]).toContain("does not answer"), {
      timeoutMs: DETECTED_WITHIN_MS,
    });
    await proxy.pass();
    await eventually(() => expect(health.ready().ok).toBe(true), { timeoutMs: DETECTED_WITHIN_MS });
    expect(await outcomeInTime(() => use(database))).toHaveLength(CONNECTIONS);
  });

  it("can reset the connection of the health check, and the process of kapi continues", async () => {
    const { database, proxy } = await open();
    await proxy.dropReplies();
    const asked = statement<{ asked: number }>(
      "asked",
      "select count(*)::integer as asked from pg_stat_activity where application_name = 'half-open' and query = 'select 1'",
    );
    const direct = await scope.start("direct", () =>
      startPool({ connectionString: postgresUrl, schema: "public", applicationName: "direct", logger }),
    );
    await eventually(async () => expect((await direct.query(asked, []))[0]?.asked).toBeGreaterThan(0));
    proxy.cut();
    await proxy.pass();
    // A statement fails if its connection has not yet noticed the reset.
    await eventually(async () => expect(await use(database)).toHaveLength(CONNECTIONS), {
      timeoutMs: DETECTED_WITHIN_MS,
    });
  });

  it("is reached over new connections after it became read-only and rejected a statement", async () => {
    const { database } = await open();
    const readOnly = () => database.query(becomeReadOnly, []);
    await Promise.all(Array.from({ length: CONNECTIONS }, readOnly));
    await expect(database.query(write, [])).rejects.toSatisfy(isTransient);
    for (let times = 0; times < CONNECTIONS; times += 1) await database.query(write, []);
  });
});

describe("another service", () => {
  let server: Server;

  async function serve(): Promise<string> {
    server = createServer((_request, response) => response.end("{}"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await scope.start("server", () => ({
      value: null,
      stop: async () => {
        server.closeAllConnections();
        server.close();
      },
    }));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("is reached over new connections after the open ones froze, and only the first call fails", async () => {
    const { proxy, url } = await throughProxy(await serve());
    const client = await scope.start("client", () =>
      startInternalClient({ baseUrl: url, credentials: {}, timeoutMs: 2_000, connections: 4 }),
    );
    const call = () => client.request("GET", "/");
    await Promise.all(Array.from({ length: 4 }, call));
    proxy.freeze();
    expect(await outcomeInTime(call)).toBeInstanceOf(Error);
    for (let times = 0; times < 4; times += 1) expect(await call()).toMatchObject({ status: 200 });
  });
});
