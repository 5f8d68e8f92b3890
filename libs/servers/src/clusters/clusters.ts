import type { ServerContext } from "../server.ts";
import type { ServerAddresses } from "../servers.ts";
import { type KafkaCluster, startKafkaCluster } from "./kafka-cluster.ts";
import { type PostgresPair, startPostgresPair } from "./postgres-pair.ts";
import { type RedisCluster, startRedisCluster } from "./redis-cluster.ts";

/**
 * A cluster of Kafka, of Redis and of PostgreSQL, as processes of this machine. The addresses have
 * the format of the services' environment variables.
 */
export interface Clusters extends ServerAddresses {
  readonly kafka: KafkaCluster;
  readonly redis: RedisCluster;
  readonly postgres: PostgresPair;
  stop(): Promise<void>;
}

/**
 * Starts three Kafka brokers, a Redis Cluster and a PostgreSQL pair at the same time. If a start
 * fails, the clusters that started are stopped, and the error of the failed start is thrown.
 */
export async function startClusters(context: ServerContext): Promise<Clusters> {
  const beganMs = Date.now();
  const starts = [startKafkaCluster(context), startRedisCluster(context), startPostgresPair(context)] as const;
  const settled = await Promise.allSettled(starts);
  const stop = async (): Promise<void> => {
    const running = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    await Promise.all(running.map((cluster) => cluster.stop()));
  };
  for (const one of settled) {
    if (one.status === "fulfilled") continue;
    await stop();
    throw one.reason;
  }
  const [kafka, redis, postgres] = await Promise.all(starts);
  context.report.done("clusters: 3 Kafka brokers, 6 Redis nodes, 2 PostgreSQL nodes", beganMs);
  return {
    kafka,
    redis,
    postgres,
    kafkaBrokers: kafka.brokers,
    kafkaReplicas: { replicationFactor: 3, minInsyncReplicas: 2 },
    redisUrl: redis.url,
    redisCluster: true,
    postgresUrl: postgres.url,
    stop,
  };
}
