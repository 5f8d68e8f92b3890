/** The Kafka cluster, as a service connects to it. */
import { createKafka, type GrowthWatch, type KafkaConnection, kafkaOptions, startGrowthWatch } from "@kapi/kafka";
import type { KafkaSettings, MainContext } from "@kapi/runtime";

/**
 * Settings of a service that uses Kafka. A service without consumer groups has no session timeout.
 */
export type ServiceKafkaSettings = KafkaSettings & { readonly KAFKA_SESSION_TIMEOUT_MS?: number };

/** A connection whose producers send only as the phase of the growth of topics allows. */
export type ServiceKafka = KafkaConnection & { readonly growth: GrowthWatch };

/** Options of {@link startServiceKafka}. */
export interface ServiceKafkaOptions {
  /**
   * Whether the process continues when topics grow, with producers that use the new number of
   * partitions. Only for a service without consumer groups. Default false: the process ends, and
   * reads all partitions after its restart.
   */
  readonly survivesGrowth?: boolean;
}

let isEnding = false;

/**
 * Stops the process as an orchestrator does, with SIGTERM. Several services may run in the process,
 * but the signal is sent only once: a second signal makes the process exit before its components
 * have stopped.
 */
function endProcess(): void {
  if (isEnding) return;
  isEnding = true;
  process.kill(process.pid, "SIGTERM");
}

/**
 * Starts to follow the growth of topics; waits during the phase `moving`. Producers and consumers
 * have connections of their own.
 * @throws if Kafka cannot be used.
 */
export async function startServiceKafka(
  { config, scope, logger }: Pick<MainContext<ServiceKafkaSettings>, "config" | "scope" | "logger">,
  service: string,
  { survivesGrowth = false }: ServiceKafkaOptions = {},
): Promise<ServiceKafka> {
  const { KAFKA_SESSION_TIMEOUT_MS: sessionTimeoutMs } = config;
  const kafka = createKafka({
    ...kafkaOptions(config),
    clientId: service,
    ...(sessionTimeoutMs === undefined ? {} : { sessionTimeoutMs }),
    logger,
  });
  const growth = await scope.start("growth of topics", () =>
    startGrowthWatch(kafka, { logger, ...(survivesGrowth ? {} : { end: endProcess }) }),
  );
  return Object.assign(kafka, { growth });
}
