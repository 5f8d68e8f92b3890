import { isIP } from "node:net";

import { MAX_WEBHOOK_ENDPOINTS } from "@kapi/contracts";
import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

const HTTPS_PORT = "443";
const MAX_PORT = 65_535;
/**
 * Time to record an attempt, in milliseconds, that a lease has to have beside the attempt itself.
 */
export const RECORDING_MARGIN_MS = 1_000;

const ports = z.string().transform((text, context): readonly number[] => {
  const given = text.split(",").map((port) => (/^\s*\d{1,5}\s*$/.test(port) ? Number(port) : 0));
  if (given.every((port) => port >= 1 && port <= MAX_PORT)) return given;
  context.addIssue({ code: "custom", message: `must be ports from 1 to ${MAX_PORT}, with commas` });
  return z.NEVER;
});

const nameServers = z.string().transform((text, context): readonly string[] => {
  const given = text.split(",").map((address) => address.trim());
  if (given.every((address) => isIP(address) !== 0 || isIP(hostOf(address)) !== 0)) return given;
  context.addIssue({
    code: "custom",
    message: "must be IP addresses, with commas, each with a port where it is not 53",
  });
  return z.NEVER;
});

/** Of `1.2.3.4:53` and `[::1]:53` the address; of anything else nothing. */
function hostOf(address: string): string {
  return (
    /^(?:\[(?<six>[^\]]+)\]|(?<four>[^:]+)):\d{1,5}$/
      .exec(address)
      ?.slice(1)
      .find((part) => part !== undefined) ?? ""
  );
}

/** Every setting of the webhooks service. */
export const ConfigSchema = z
  .object({
    HTTP_HOST: configFields.httpHost,
    HTTP_PORT: configFields.httpPort,
    ...connectionFields.kafka,
    KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
    ...connectionFields.postgres,
    POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
    /** Those that may call this service: INTERNAL_CALLS says what. */
    SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
    /**
     * Shared with services of 0.1.0, both ways, while such services run; deleted in the release
     * after the next.
     */
    INTERNAL_TOKEN: configFields.internalToken.optional(),
    /**
     * Keys that the secrets of endpoints are sealed with: "<id>:<base64>", several with commas, the
     * first in use.
     */
    WEBHOOK_SEALING_KEYS: configFields.keyring,
    /** Ports that an endpoint's address may name, with commas. */
    WEBHOOK_ALLOWED_PORTS: ports.default(ports.parse(HTTPS_PORT)),
    /**
     * "true" also allows http, private addresses and any port: for one machine alone, never where
     * others bring addresses.
     */
    WEBHOOK_ALLOW_INSECURE: z.enum(["true", "false"], 'must be "true" or "false"').default("false"),
    /**
     * Name servers that look endpoints' names up, in place of the machine's: such as ones that know
     * no internal names.
     */
    WEBHOOK_NAME_SERVERS: nameServers.optional(),
    /** A receiver's time to answer, in milliseconds, all in all (decisions, 11). */
    WEBHOOK_TIMEOUT_MS: configFields.integer(100, 60_000).default(15_000),
    /**
     * How long a delivery belongs to a process that took it up, in milliseconds: as long it waits
     * if that was killed.
     */
    WEBHOOK_LEASE_MS: configFields.integer(1_000, 600_000).default(60_000),
    /**
     * Deliveries under way at once from this process; half of the slots are kept for endpoints that
     * have none yet.
     */
    WEBHOOK_CONCURRENCY: configFields.integer(1, 10_000).default(512),
    /**
     * Of them to the endpoints of one organization: an endpoint of it always has one, however many
     * of them hang.
     */
    WEBHOOK_ORGANIZATION_CONCURRENCY: configFields.integer(2 * MAX_WEBHOOK_ENDPOINTS, 10_000).default(64),
    /** Of them to one endpoint. */
    WEBHOOK_ENDPOINT_CONCURRENCY: configFields.integer(1, 1_000).default(8),
  })
  .refine((config) => config.WEBHOOK_LEASE_MS >= config.WEBHOOK_TIMEOUT_MS + 2 * RECORDING_MARGIN_MS, {
    path: ["WEBHOOK_LEASE_MS"],
    error: "must be at least 2,000 more than WEBHOOK_TIMEOUT_MS",
  });
export type Config = z.output<typeof ConfigSchema>;
