/** The Kafka cluster, as a service connects to it. */
import { createKafka, type GrowthWatch, type KafkaConnection, kafkaOptions, startGrowthWatch } from "@kapi/kafka";
import type { KafkaSettings, MainContext } from "@kapi/runtime";

/** Settings of a service that uses Kafka. A service without consumer groups has no timeout. */
export type ServiceKafkaSettings = KafkaSettings & { readonly KAFKA_SESSION_TIMEOUT_MS?: number };

/** A cluster, and what this process knows of the growth of its topics. */
export type ServiceKafka = KafkaConnection & { readonly growth: GrowthWatch };

export interface ServiceKafkaOptions {
  /**
   * Whether the process goes on when topics grow, with producers that choose partitions anew. Only
   * for a service without consumer groups. Otherwise the process ends, and reads all partitions
   * after its restart.
   */
  readonly survivesGrowth?: boolean;
}

let isEnding = false;

/**
 * Stops the process as an orchestrator does. Once for all services of a process: a second signal
 * would end it without a stop.
 */
function endProcess(): void {
  if (isEnding) return;
  isEnding = true;
  process.kill(process.pid, "SIGTERM");
}

/**
 * Connects, and waits while `kapi admin partitions grow` moves partitions. Producers and consumers
 * have connections of their own.
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
