import { TOPICS } from "@kapi/contracts";
import { createKafka, createTopics, endOffsets } from "@kapi/kafka";
import { startPool, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { createTestEnvironment, type TestEnvironment } from "../src/index.ts";

const logger = createLogger({ service: "test", level: "fatal" });
const WHERE_AM_I = statement<{ database: string }>("where_am_i", "select current_database()::text as database");

async function databaseOf(environment: TestEnvironment): Promise<string | undefined> {
  const options = { connectionString: environment.postgresUrl, schema: "public", applicationName: "test", logger };
  const pool = await startPool(options);
  const [row] = await pool.value.query(WHERE_AM_I, []);
  await pool.stop();
  return row?.database;
}

describe("a test environment", () => {
  let one: TestEnvironment;
  let other: TestEnvironment;

  beforeAll(async () => {
    [one, other] = await Promise.all([createTestEnvironment(), createTestEnvironment()]);
  });
  afterAll(() => Promise.all([one.stop(), other.stop()]));

  it("has topics, a database and a Redis that no other environment has", async () => {
    expect(new Set([one.topicPrefix, other.topicPrefix]).size).toBe(2);
    expect(new Set([one.redisUrl, other.redisUrl]).size).toBe(2);
    expect(await databaseOf(one)).toBe(one.name);
    expect(await databaseOf(other)).toBe(other.name);
    const kafka = createKafka({
      brokers: [one.kafkaBrokers],
      clientId: "test",
      topicPrefix: one.topicPrefix,
      logger,
    });
    expect((await endOffsets(kafka, TOPICS.commandEvents)).size).toBe(4);
    await createTopics(kafka, { partitions: 4, replicationFactor: 1, minInsyncReplicas: 1 });
  });

  it("reports the use of a server that the test did not request", async () => {
    const small = await createTestEnvironment({ needs: ["postgres"] });
    expect(() => small.topicPrefix).toThrow('"kafka" in needs');
    await small.stop();
  });

  it("drops its database at the end", async () => {
    const short = await createTestEnvironment({ needs: ["postgres"] });
    await short.stop();
    await expect(databaseOf(short)).rejects.toThrow("does not exist");
  });
});
