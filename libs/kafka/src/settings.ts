import type { ConnectionOptions } from "node:tls";

import type { KafkaSettings } from "@kapi/runtime";
import type { SASLOptions } from "kafkajs";

import type { KafkaOptions } from "./connection.ts";

/** The {@link KafkaOptions} of a process configuration: brokers, topic prefix, TLS and SASL. */
export function kafkaOptions(
  settings: KafkaSettings,
): Pick<KafkaOptions, "brokers" | "topicPrefix"> & Pick<Partial<KafkaOptions>, "ssl" | "sasl"> {
  const sasl = saslOptions(settings);
  return {
    brokers: settings.KAFKA_BROKERS,
    topicPrefix: settings.KAFKA_TOPIC_PREFIX,
    ...(settings.KAFKA_TLS === "on" ? { ssl: tlsOptions(settings) } : {}),
    ...(sasl === null ? {} : { sasl }),
  };
}

function tlsOptions({ KAFKA_TLS_CA, KAFKA_TLS_CERTIFICATE, KAFKA_TLS_KEY }: KafkaSettings): ConnectionOptions {
  return {
    ...(KAFKA_TLS_CA === undefined ? {} : { ca: KAFKA_TLS_CA }),
    ...(KAFKA_TLS_CERTIFICATE === undefined || KAFKA_TLS_KEY === undefined
      ? {}
      : { cert: KAFKA_TLS_CERTIFICATE, key: KAFKA_TLS_KEY }),
  };
}

function saslOptions(settings: KafkaSettings): SASLOptions | null {
  const { KAFKA_SASL_USERNAME: username = "", KAFKA_SASL_PASSWORD: password = "" } = settings;
  switch (settings.KAFKA_SASL_MECHANISM) {
    case "PLAIN":
      return { mechanism: "plain", username, password };
    case "SCRAM-SHA-256":
      return { mechanism: "scram-sha-256", username, password };
    case "SCRAM-SHA-512":
      return { mechanism: "scram-sha-512", username, password };
    case undefined:
      return null;
  }
}
