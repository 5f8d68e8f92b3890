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

/** The addresses of the three servers. */
export interface ServerAddresses {
  /** host:port, several separated by commas. */
  readonly kafkaBrokers: string;
  readonly postgresUrl: string;
  /** URLs separated by commas for a cluster. */
  readonly redisUrl: string;
  /** Whether `redisUrl` names nodes of a Redis Cluster; a single Redis by default. */
  readonly redisCluster?: boolean;
  /** Replication of topics; one replica by default. */
  readonly kafkaReplicas?: { readonly replicationFactor: number; readonly minInsyncReplicas: number };
}

/** The three servers of a run. `stop` leaves servers running whose address was given. */
export interface Servers extends ServerAddresses {
  /** All three, also those whose address was given. */
  readonly running: readonly RunningServer[];
  /** Stops the started servers, all at the same time. */
  stop(): Promise<void>;
}

/** Where the data of a run is, and whether it is kept. */
export interface ServersOptions {
  /** Has the data, logs and secrets of the servers. */
  readonly stateDir: string;
  /** May have addresses of servers to use. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Gets the progress of the start. Default: nothing is reported. */
  readonly report?: Report;
  /**
   * Whether the data need not outlive the run. Containers then have no volume. The data of
   * processes stays in `stateDir`, until the caller deletes it. Default: false, the data is kept.
   */
  readonly ephemeral?: boolean;
}

/** Returns only the addresses, from an object that has more fields. */
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

/** The context for servers in `stateDir`. `record` is the state record of the run. */
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
 * Starts the three servers without a stack, in the folder `servers` of the state folder. Their
 * `stop` also closes the state record.
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
 * Starts Kafka, PostgreSQL and Redis at the same time. If one of them fails, all are stopped.
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
    // The same message for several servers is reported once.
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
