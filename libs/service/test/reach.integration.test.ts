/** A process that starts while a server is down waits, and continues when the server is up. */
import { statement } from "@kapi/postgres";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { createTestEnvironment, TcpProxy, type TestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { startDatabase, startServiceRedis } from "../src/index.ts";

const DOWN_MS = 1_500;
const SERVICE = "reach-test";
const logger = createLogger({ service: SERVICE, level: "silent" });

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["postgres", "redis"] });
});
afterAll(() => environment.stop());

/** A proxy in front of the server at `url` that refuses connections for {@link DOWN_MS}. */
async function downAtFirst(url: string): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const { proxy, url: proxied } = await TcpProxy.inFrontOf(url);
  await proxy.refuse();
  setTimeout(() => void proxy.pass(), DOWN_MS);
  return { url: proxied, close: () => proxy.refuse() };
}

it("a starting service waits for a Redis that is down", async () => {
  const { url, close } = await downAtFirst(environment.redisUrl);
  const scope = new Scope();
  const config = { REDIS_URL: [url], REDIS_CLUSTER: "off" as const };
  const redis = await startServiceRedis(
    { config, scope, logger, health: new Health() },
    {
      service: SERVICE,
      library: "#!lua name=reach_test\nredis.register_function('reach_test', function() return 1 end)",
    },
  );
  expect(await redis.call("reach_test", ["a"], [])).toBe(1);
  await scope.stop();
  await close();
});

it("a starting service waits for a PostgreSQL that is down", async () => {
  const { url, close } = await downAtFirst(environment.postgresUrl);
  const scope = new Scope();
  const config = { POSTGRES_URL: url, POSTGRES_POOL_SIZE: 1 };
  const database = await startDatabase(
    { config, scope, logger, health: new Health() },
    { service: SERVICE, schema: "reach_test" },
  );
  expect(await database.query(statement("reach_one", "select 1 as one"), [])).toEqual([{ one: 1 }]);
  await scope.stop();
  await close();
});

it("a starting service fails at once if PostgreSQL rejects its password", async () => {
  const wrong = new URL(environment.postgresUrl);
  wrong.password = "wrong";
  wrong.username = "nobody";
  const context = { config: { POSTGRES_URL: wrong.href, POSTGRES_POOL_SIZE: 1 }, logger };
  const starting = startDatabase(
    { ...context, scope: new Scope(), health: new Health() },
    { service: SERVICE, schema: "reach_test" },
  );
  await expect(starting).rejects.toThrow(/cannot be used: .*authentication failed/);
});
