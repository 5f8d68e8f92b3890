/** The Kafka cluster, as a service connects to it. */
import { createKafka, type KafkaConnection, kafkaOptions } from "@kapi/kafka";
import type { KafkaSettings, MainContext } from "@kapi/runtime";

/** Settings of a service that uses Kafka. A service without consumer groups has no timeout. */
export type ServiceKafkaSettings = KafkaSettings & { readonly KAFKA_SESSION_TIMEOUT_MS?: number };

/** Describes the connection; nothing connects before the first producer or consumer. */
export function createServiceKafka(
  { config, logger }: Pick<MainContext<ServiceKafkaSettings>, "config" | "logger">,
  service: string,
): KafkaConnection {
  const { KAFKA_SESSION_TIMEOUT_MS: sessionTimeoutMs } = config;
  return createKafka({
    ...kafkaOptions(config),
    clientId: service,
    ...(sessionTimeoutMs === undefined ? {} : { sessionTimeoutMs }),
    logger,
  });
}
