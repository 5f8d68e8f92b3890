export { LocalError } from "./local-error.ts";
export { findCommand, runOrThrow } from "./machine/command.ts";
export { DebianPackages } from "./machine/packages.ts";
export { endProcess, isAlive, pauseProcess, signalProcess, spawnProcess, type ProcessId } from "./machine/processes.ts";
export { freePort } from "./machine/ports.ts";
export { printedReport, silentReport, type Report } from "./report.ts";
export { createDatabase, databaseUrl, dropDatabase } from "./servers/databases.ts";
export { type KafkaExtras, startKafkaContainer, startKafkaProcess } from "./servers/kafka.ts";
export type { NativeServer } from "./servers/native.ts";
export { type ServerCertificate, startPostgresProcess } from "./servers/postgres.ts";
export { redis, startRedisProcess } from "./servers/redis.ts";
export type { RunningServer, ServerContext } from "./servers/server.ts";
export { type Demo, type DemoOptions, type DemoWithAccounts, makeDemo, runningDemo } from "./demo/demo.ts";
export { createOrganization, type ReadyOrganization } from "./demo/operator.ts";
export {
  type ServerAddresses,
  serverContext,
  type Servers,
  type ServersOptions,
  startServers,
  startServersIn,
} from "./servers/servers.ts";
export { keptEnvironment } from "./services/kept-environment.ts";
export { type Ending, ServiceProcess } from "./services/service-process.ts";
export { type Stack, type StackOptions, startStack } from "./stack.ts";
export { deleteTopics } from "./servers/topics.ts";
export { isRunning, StateRecord, stopRecorded } from "./state/record.ts";
export { generateSecrets, keptSecrets, type Secrets } from "./state/secrets.ts";
