import path from "node:path";

import { LocalError, messageOf } from "./local-error.ts";
import { DebianPackages } from "./machine/packages.ts";
import { type Report, silentReport } from "./report.ts";
import { StateRecord } from "./state/record.ts";
import { keptSecrets } from "./state/secrets.ts";
import { kafka } from "./kafka.ts";
import { postgres } from "./postgres.ts";
import { redis } from "./redis.ts";
import type { RunningServer, ServerContext, ServerName } from "./server.ts";
import { startServer } from "./ways.ts";

/** Where the three servers are. */
export interface ServerAddresses {
  /** host:port, several separated by commas. */
  readonly kafkaBrokers: string;
  readonly postgresUrl: string;
  /** Several separated by commas where it is a cluster. */
  readonly redisUrl: string;
  /** Whether `redisUrl` names nodes of a Redis Cluster; a single Redis by default. */
  readonly redisCluster?: boolean;
  /** How topics are to be copied; one copy by default. */
  readonly kafkaReplicas?: { readonly replicationFactor: number; readonly minInsyncReplicas: number };
}

export interface Servers extends ServerAddresses {
  readonly running: readonly RunningServer[];
  /** Stops what was started, the last first. */
  stop(): Promise<void>;
}

export interface ServersOptions {
  readonly stateDir: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly report?: Report;
  readonly ephemeral?: boolean;
}

/** The addresses alone, of whatever else there is beside them. */
export function addressesOf(servers: ServerAddresses): ServerAddresses {
  const { kafkaBrokers, postgresUrl, redisUrl, redisCluster, kafkaReplicas } = servers;
  return {
    kafkaBrokers,
    postgresUrl,
    redisUrl,
    ...(redisCluster === undefined ? {} : { redisCluster }),
    ...(kafkaReplicas === undefined ? {} : { kafkaReplicas }),
  };
}

/** What starting a server in `stateDir` needs. `record` is the state record of the run. */
export function serverContext(options: ServersOptions, record: StateRecord): ServerContext {
  return {
    stateDir: options.stateDir,
    env: options.env ?? process.env,
    record,
    secrets: keptSecrets(options.stateDir),
    report: options.report ?? silentReport,
    packages: new DebianPackages(),
    ephemeral: options.ephemeral ?? false,
  };
}

/**
 * Starts the three servers by themselves, under `servers` of the state folder; their `stop` forgets
 * the run.
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const stateDir = path.join(options.stateDir, "servers");
  const record = await StateRecord.open(stateDir);
  try {
    const servers = await startServersIn(serverContext({ ...options, stateDir }, record));
    return {
      ...servers,
      stop: async () => {
        await servers.stop();
        await record.close();
      },
    };
  } catch (error) {
    await record.close();
    throw error;
  }
}

/**
 * Starts Kafka, PostgreSQL and Redis side by side. If one cannot be had, the others are stopped
 * again.
 */
export async function startServersIn(context: ServerContext): Promise<Servers> {
  const settled = await Promise.allSettled([kafka, postgres, redis].map((kind) => startServer(kind, context)));
  const running = settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((server) => server.stop()));
  };
  const failed = settled.flatMap((result): unknown[] => (result.status === "rejected" ? [result.reason] : []));
  if (failed.length > 0) {
    await stop();
    const [first] = failed;
    // What all of them lack is reported once.
    const messages = new Set(failed.map(messageOf));
    throw messages.size === 1 ? first : new LocalError([...messages].join("\n"));
  }
  const addressOf = (name: ServerName): string => running.find((server) => server.name === name)?.address ?? "";
  return {
    kafkaBrokers: addressOf("kafka"),
    postgresUrl: addressOf("postgres"),
    redisUrl: addressOf("redis"),
    running,
    stop,
  };
}
