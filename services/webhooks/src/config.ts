import { isIP } from "node:net";

import { MAX_WEBHOOK_ENDPOINTS } from "@kapi/contracts";
import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

const HTTPS_PORT = "443";
const MAX_PORT = 65_535;
/** The part of a lease that is reserved for recording the attempt, in milliseconds. */
export const RECORDING_MARGIN_MS = 1_000;

const ports = z.string().transform((text, context): readonly number[] => {
  const given = text.split(",").map((port) => port.trim());
  if (given.every(isPort)) return given.map(Number);
  context.addIssue({ code: "custom", message: `must be comma-separated ports from 1 to ${MAX_PORT}` });
  return z.NEVER;
});

const nameServers = z.string().transform((text, context): readonly string[] => {
  const given = text.split(",").map((address) => address.trim());
  if (given.every(isNameServer)) return given;
  const message = `must be comma-separated IP addresses, each with its port (1 to ${MAX_PORT}) if that is not 53`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_PORT;
}

/** Whether this is an IP address, alone or with its port: `1.2.3.4:53` and `[::1]:53`. */
function isNameServer(text: string): boolean {
  const [, six, four, port = ""] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  return isIP(text) !== 0 || (isIP(six ?? four ?? "") !== 0 && isPort(port));
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
    SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
    INTERNAL_TOKEN: configFields.internalToken.optional(),
    /**
     * Keys of the secrets of endpoints; the first one encrypts. Keep an old key while secrets are
     * encrypted with it.
     */
    WEBHOOK_SEALING_KEYS: configFields.keyring,
    /** Ports that the URL of an endpoint may name. */
    WEBHOOK_ALLOWED_PORTS: ports.default(ports.parse(HTTPS_PORT)),
    /**
     * `true` also allows http, private addresses and any port. For a single machine only, never
     * where organizations choose the URLs.
     */
    WEBHOOK_ALLOW_INSECURE: z.enum(["true", "false"], 'must be "true" or "false"').default("false"),
    /**
     * Name servers for the hosts of endpoints, instead of the machine's: for example servers that
     * know no internal names.
     */
    WEBHOOK_NAME_SERVERS: nameServers.optional(),
    /** How long one request to a receiver may take in total, in milliseconds (decisions, 11). */
    WEBHOOK_TIMEOUT_MS: configFields.integer(100, 60_000).default(15_000),
    /**
     * How long a process holds a delivery, in milliseconds. At least 2,000 more than
     * WEBHOOK_TIMEOUT_MS. A delivery of a killed process waits at most this long.
     */
    WEBHOOK_LEASE_MS: configFields.integer(1_000, 600_000).default(60_000),
    /**
     * Maximum number of concurrent deliveries of one process. Half of the slots are reserved for
     * endpoints without a running delivery.
     */
    WEBHOOK_CONCURRENCY: configFields.integer(1, 10_000).default(512),
    /**
     * Maximum number of concurrent deliveries of one process to one organization. Half of the slots
     * are reserved for the organization's endpoints without a running delivery.
     */
    WEBHOOK_ORGANIZATION_CONCURRENCY: configFields.integer(2 * MAX_WEBHOOK_ENDPOINTS, 10_000).default(64),
    /** Maximum number of concurrent deliveries of one process to one endpoint. */
    WEBHOOK_ENDPOINT_CONCURRENCY: configFields.integer(1, 1_000).default(8),
  })
  .refine((config) => config.WEBHOOK_LEASE_MS >= config.WEBHOOK_TIMEOUT_MS + 2 * RECORDING_MARGIN_MS, {
    path: ["WEBHOOK_LEASE_MS"],
    error: "must be at least 2,000 more than WEBHOOK_TIMEOUT_MS",
  });
/** The parsed environment of this service. */
export type Config = z.output<typeof ConfigSchema>;
