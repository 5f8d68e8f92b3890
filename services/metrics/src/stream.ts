/** The role `stream`: the live sockets, and the source of their samples. */
import type { Server } from "node:http";

import { createAdmission, createAvailableCredits, type Directory, startRepeatedRefunds } from "@kapi/admission";
import { ADMISSION_LIBRARY, ADMISSION_SETTINGS } from "@kapi/admission/redis";
import { createClientAddress, serviceCredentials } from "@kapi/http";
import type { KafkaConnection } from "@kapi/kafka";
import type { MainContext } from "@kapi/runtime";
import { startServiceRedis, startServiceRequestLog, startTimer } from "@kapi/service";

import type { Config } from "./config.ts";
import type { SampleSource } from "./domain/sample-source.ts";
import type { SampleWindows } from "./domain/sample-windows.ts";
import { startUpgradeListener } from "./inbound/ws/live-port.ts";
import { type LiveServer, startLiveServer } from "./inbound/ws/live-server.ts";
import type { SubscriptionHub } from "./inbound/ws/subscription-hub.ts";
import { FollowedSamples } from "./operations/followed-samples.ts";
import { startWindowLinks } from "./outbound/ws/window-links.ts";

type Context = MainContext<Config>;

/** Starts to serve live sockets, on `LIVE_PORT` if it is set, otherwise on `server`. */
export async function startStream(
  context: Context,
  server: Server,
  dependencies: {
    readonly kafka: KafkaConnection;
    readonly source: SampleSource;
    readonly hub: SubscriptionHub;
    readonly directory: Directory;
  },
): Promise<LiveServer> {
  const { kafka, source, hub, directory } = dependencies;
  const { config, scope, logger, clock } = context;
  const redis = await startServiceRedis(context, { service: "metrics", library: ADMISSION_LIBRARY });
  const admission = createAdmission({
    redis,
    directory,
    settings: { ...ADMISSION_SETTINGS, usageStreamLimit: config.USAGE_STREAM_LIMIT },
  });
  const refunds = await scope.start("refunds", () => startRepeatedRefunds({ admission, clock, logger }));
  const requestLog = await startServiceRequestLog(context, kafka);
  const livePort = config.LIVE_PORT;
  const host = config.LIVE_HOST ?? config.HTTP_HOST;
  const upgrades =
    livePort === undefined ? server : await scope.start("live port", () => startUpgradeListener(host, livePort));
  return scope.start("live", () =>
    startLiveServer({
      server: upgrades,
      source,
      hub,
      directory,
      admission,
      refunds,
      requestLog,
      clientAddress: createClientAddress(config.TRUSTED_PROXIES ?? []),
      availableCredits: createAvailableCredits(redis, logger),
      clock,
      logger,
      limits: {
        maxSubscriptions: config.MAX_SUBSCRIPTIONS_PER_SOCKET,
        maxMessagesPerSecond: config.MAX_MESSAGES_PER_SECOND,
        stuckTimeoutMs: config.STUCK_TIMEOUT_MS,
        catchUpTimeoutMs: config.CATCH_UP_TIMEOUT_MS,
        maxSocketsPerOrganization: config.MAX_SOCKETS_PER_ORGANIZATION,
        maxBufferedBytes: config.MAX_BUFFERED_BYTES,
      },
    }),
  );
}

/**
 * Starts to follow accounts at the windows processes. This process is ready while the connected
 * windows processes hold every partition.
 */
export async function startFollowedSamples(
  { config, scope, logger, health, clock, fatal }: Context,
  {
    urls,
    windows,
    expireIntervalMs,
  }: {
    readonly urls: readonly string[];
    readonly windows: SampleWindows;
    readonly expireIntervalMs: number;
  },
): Promise<FollowedSamples> {
  const samples = new FollowedSamples({ windows, clock, fatal });
  await scope.start("window expiry", () => startTimer(expireIntervalMs, () => samples.expire()));
  await scope.start("windows processes", () =>
    startWindowLinks({
      urls,
      credentials: serviceCredentials(config),
      connected: (link) => samples.connected(link),
      disconnected: (link) => samples.disconnected(link),
      receive: (link, message) => samples.apply(link, message),
      logger,
    }),
  );
  health.readiness("windows processes", () => {
    const missing = samples.missingPartitions;
    if (missing === null) return "no windows process is connected";
    return missing.length === 0 ? null : `no connected process holds partition ${missing.join(", ")}`;
  });
  return samples;
}
