import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

/** Every setting of the risk service. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  ...connectionFields.postgres,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  SERVICE_TOKEN: configFields.serviceToken,
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Base URL of the account service: accounts, their values, positions and prices. */
  ACCOUNT_URL: configFields.serviceUrl,
  /**
   * Ed25519 private keys of evidence (decisions, 20.3); the first one signs. The public parts of
   * all of them are published.
   */
  EVIDENCE_SIGNING_KEYS: configFields.keyring,
  /**
   * The public parts of evidence keys that no longer sign, each as `<id>:<publicKey>:<time of
   * retirement>`, separated by commas. Keep a key for 400 days after its retirement, because the
   * evidence that it signed is kept for 400 days.
   */
  EVIDENCE_KEYS_RETIRED: configFields.retiredKeys.optional(),
  /**
   * Interval of the checkpoints, in milliseconds: after a crash, the valuations since the last
   * checkpoint are compared again.
   */
  CHECKPOINT_INTERVAL_MS: configFields.integer(100, 60_000).default(10_000),
});
export type Config = z.output<typeof ConfigSchema>;
