/**
 * Tests that the test clusters survive faults of their nodes, without kapi. `npm run scenario --
 * clusters` also replaces a Redis node under a new id.
 */
import { Kafka, logLevel, type Producer } from "kafkajs";
import { Client } from "pg";

import { delay } from "@kapi/kernel";
import { type Clusters, type RedisNode, startClusters } from "@kapi/servers";
import { eventually, startTestClusters, startTestServers } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const RECOVERY_MS = 60_000;
/** A controller without a heartbeat for 3 s loses the leadership. */
const LEAD_MOVES_MS = 6_000;
const TOPIC = "nodes";
const KEY = "kept";

describe("in the test clusters", () => {
  let clusters: Clusters;
  beforeAll(async () => {
    clusters = await startTestClusters();
  }, 180_000);
  afterAll(() => clusters.stop());

  describe("Kafka", () => {
    let producer: Producer;
    const sent: string[] = [];
    beforeAll(async () => {
      const kafka = client(clusters);
      const admin = kafka.admin();
      await admin.connect();
      await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 3 }] });
      await admin.disconnect();
      producer = kafka.producer();
      await producer.connect();
    });
    afterAll(() => producer.disconnect());

    async function send(): Promise<void> {
      await eventually(
        async () => {
          const value = `message ${sent.length}`;
          const messages = [0, 1, 2].map((partition) => ({ partition, value }));
          await producer.send({ topic: TOPIC, acks: -1, timeout: 5_000, messages });
          sent.push(value);
        },
        { timeoutMs: RECOVERY_MS },
      );
    }

    it(
      "keeps every partition writable while a broker is down, and the broker gets in sync after its restart",
      async () => {
        await send();
        await clusters.kafka.nodes[0]?.kill();
        await send();
        await clusters.kafka.nodes[0]?.start();
        await clusters.kafka.settled();
      },
      2 * RECOVERY_MS,
    );

    it(
      "lets brokers be replaced under new ids after each controller was paused and the leadership moved",
      async () => {
        const [first, second, third] = clusters.kafka.nodes;
        await third?.replace();
        // The leadership moves, but no connection between brokers closes.
        for (const node of [first, second, third]) {
          await node?.pause();
          await delay(LEAD_MOVES_MS);
          node?.resume();
          await clusters.kafka.settled();
        }
        const former = clusters.kafka.nodes.map(({ id }) => id);
        await second?.replace();
        await first?.replace();
        await send();
        for (const { id } of [first, second].filter((node) => node !== undefined)) expect(former).not.toContain(id);
      },
      6 * RECOVERY_MS,
    );
  });

  describe("Redis Cluster", () => {
    it(
      "moves the slots of a paused master to its replica, and back to the master by failback",
      async () => {
        const { redis } = clusters;
        const master = await redis.masterOf(0);
        await master.pause();
        const successor = await eventually(
          async () => {
            const running = redis.nodes.find((node) => node !== master && node.state === "running");
            const seen = (await running?.ask("CLUSTER NODES")) ?? "";
            const id = /^(\w+) .* 0-\d+/m.exec(seen)?.[1];
            return redis.nodes.find((node) => node.id === id && node !== master) ?? false;
          },
          { timeoutMs: RECOVERY_MS },
        );
        master.resume();
        await redis.settled();
        expect(await master.isMaster()).toBe(false);
        await master.takeOver();
        await redis.settled();
        expect((await redis.masterOf(0)).name).toBe(master.name);
        expect(await successor.isMaster()).toBe(false);
      },
      2 * RECOVERY_MS,
    );
  });

  describe("PostgreSQL", () => {
    it(
      "loses no acknowledged commit by failover and failback, and keeps its address",
      async () => {
        const { postgres } = clusters;
        const query = (text: string): Promise<unknown[]> => rowsOf(postgres.url, text);
        await query("create table kept (value integer primary key)");
        for (const [value, first] of [
          [1, "postgres-1"],
          [2, "postgres-2"],
        ] as const) {
          expect(postgres.primary.name).toBe(first);
          await query(`insert into kept values (${value})`);
          await postgres.primary.kill();
          await postgres.failover();
          expect(await query("select from kept")).toHaveLength(value);
          await postgres.rejoin();
        }
        await postgres.settled();
      },
      2 * RECOVERY_MS,
    );

    it("lets a commit wait for a paused standby until the standby is detached", async () => {
      const { postgres } = clusters;
      await postgres.standby.pause();
      let isDone = false;
      const commit = rowsOf(postgres.url, "insert into kept values (3)").then(() => (isDone = true));
      commit.catch(() => undefined);
      await eventually(async () => {
        const waiting = await rowsOf(postgres.url, "select from pg_stat_activity where wait_event = 'SyncRep'");
        return waiting.length === 1;
      });
      expect(isDone).toBe(false);
      await postgres.detachStandby();
      await commit;
      postgres.standby.resume();
      await postgres.settled();
    });
  });
});

it(
  "clusters that were stopped start again with their data",
  async () => {
    const again = await startTestServers(async (context) => {
      const kept = { ...context, ephemeral: false };
      const first = await startClusters(kept);
      try {
        const admin = client(first).admin();
        await admin.connect();
        await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 3 }] });
        await admin.disconnect();
        await (await masterOfKey(first)).ask(`SET ${KEY} value`);
        await rowsOf(first.postgres.url, "create table kept as select 1");
      } finally {
        await first.stop();
      }
      return startClusters(kept);
    });
    try {
      const admin = client(again).admin();
      await admin.connect();
      expect(await admin.fetchTopicOffsets(TOPIC)).toHaveLength(3);
      await admin.disconnect();
      expect(await (await masterOfKey(again)).ask(`GET ${KEY}`)).toContain("value");
      expect(await rowsOf(again.postgres.url, "select from kept")).toHaveLength(1);
    } finally {
      await again.stop();
    }
  },
  4 * RECOVERY_MS,
);

async function masterOfKey({ redis }: Clusters): Promise<RedisNode> {
  const reply = await redis.nodes[0]?.ask(`CLUSTER KEYSLOT ${KEY}`);
  return redis.masterOf(Number(/\d+/.exec(reply ?? "")?.[0]));
}

function client(clusters: Clusters): Kafka {
  return new Kafka({
    brokers: clusters.kafkaBrokers.split(","),
    clientId: "test",
    requestTimeout: 5_000,
    logLevel: logLevel.NOTHING,
    retry: { retries: 2 },
  });
}

async function rowsOf(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 30_000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
