export { LocalError, messageOf } from "./local-error.ts";
export { findCommand, runOrThrow } from "./machine/command.ts";
export { DebianPackages } from "./machine/packages.ts";
export { freePort, isFree } from "./machine/ports.ts";
export {
  endProcess,
  isAlive,
  lastLines,
  pauseProcess,
  type ProcessId,
  raisePriority,
  signalProcess,
  spawnProcess,
} from "./machine/processes.ts";
export { createDatabase, databaseUrl, dropDatabase } from "./databases.ts";
export { type KafkaExtras, startKafkaContainer, startKafkaProcess } from "./kafka.ts";
export type { NativeServer } from "./native.ts";
export { type ServerCertificate, startPostgresProcess } from "./postgres.ts";
export { askRedis, redis, startRedisProcess } from "./redis.ts";
export { printedReport, type Report, silentReport } from "./report.ts";
export type { RunningServer, ServerContext } from "./server.ts";
export {
  addressesOf,
  type ServerAddresses,
  serverContext,
  type Servers,
  type ServersOptions,
  startServers,
  startServersIn,
} from "./servers.ts";
export { type Entry, isRunning, recordedPids, StateRecord, stopRecorded } from "./state/record.ts";
export { generateSecrets, keptSecrets, type Secrets, serviceTokenDigests, writePrivately } from "./state/secrets.ts";
export { deleteTopics } from "./topics.ts";
export { type Clusters, startClusters } from "./clusters/clusters.ts";
export { type KafkaCluster, type KafkaNode, startKafkaCluster } from "./clusters/kafka-cluster.ts";
export type { ClusterNode, NodeState } from "./clusters/node.ts";
export { type PostgresPair, startPostgresPair } from "./clusters/postgres-pair.ts";
export { type RedisCluster, type RedisNode, startRedisCluster } from "./clusters/redis-cluster.ts";
export type { ProxyMode } from "./proxied-connection.ts";
export { type ProxyTarget, TcpProxy } from "./tcp-proxy.ts";
