import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

import type { Secrets, ServerAddresses } from "@kapi/servers";
import type { Ports } from "./ports.ts";

const SERVICES_FOLDER = path.resolve(import.meta.dirname, "../../../../services");
const HOST = "127.0.0.1";

/** Names the console's port, and the process that has it: of an organization service that runs twice, one. */
export const CONSOLE = "console";
const CONSOLE_PROCESS = "organization";

/** What a program of its own is told by the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The names of all services of this checkout. */
export function allServices(): string[] {
  return readdirSync(SERVICES_FOLDER)
    .filter((name) => existsSync(path.join(SERVICES_FOLDER, name, "src", "main.ts")))
    .toSorted();
}

/** Where the code of a service is. */
export function serviceFolder(service: string): string {
  return path.join(SERVICES_FOLDER, service);
}

/** After the name of a service: its second process. */
export const SECOND = "-2";

/** The name of the port on which a process serves the live stream; only that of a second metrics is another. */
export function livePort(process: string): string {
  return process === `metrics${SECOND}` ? `live${SECOND}` : "live";
}

/** The base address of a service. */
export function serviceUrl(ports: Ports, service: string): string {
  return `http://${HOST}:${ports.of(service)}`;
}

export interface PlanOptions {
  readonly servers: ServerAddresses;
  readonly topicPrefix: string;
  readonly secrets: Secrets;
  readonly ports: Ports;
  /** Of this machine; what a plan says goes before it. */
  readonly base: Environment;
}

/** The environment of a service: the same for all, but for the port. */
export function serviceEnvironment(service: string, services: readonly string[], options: PlanOptions): Environment {
  const { servers, secrets, ports } = options;
  const urls = services.map((other) => [variableOf(other), serviceUrl(ports, other)]);
  return {
    LOG_LEVEL: "info",
    ...options.base,
    HTTP_HOST: HOST,
    HTTP_PORT: String(ports.of(service)),
    LIVE_HOST: HOST,
    LIVE_PORT: String(ports.of(livePort(service))),
    KAFKA_BROKERS: servers.kafkaBrokers,
    KAFKA_TOPIC_PREFIX: options.topicPrefix === "" ? undefined : options.topicPrefix,
    POSTGRES_URL: servers.postgresUrl,
    REDIS_URL: servers.redisUrl,
    ...(servers.redisCluster === true ? { REDIS_CLUSTER: "on" } : {}),
    INTERNAL_TOKEN: secrets.internalToken,
    TRADING_SERVER_TOKEN: secrets.tradingServerToken,
    PASSWORD_DERIVATION_KEYS: secrets.passwordDerivationKeys,
    PASSWORD_SEALING_KEYS: secrets.passwordSealingKeys,
    FINGERPRINT_KEY: secrets.fingerprintKey,
    WEBHOOK_SEALING_KEYS: secrets.webhookSealingKeys,
    // Receivers are programs on this machine.
    WEBHOOK_ALLOW_INSECURE: "true",
    ...Object.fromEntries(urls),
    ...(service === CONSOLE_PROCESS ? consoleEnvironment(ports) : {}),
  };
}

/** Where people reach the console: the base address of its page. */
export function consoleUrl(ports: Ports): string {
  return `${serviceUrl(ports, CONSOLE)}/console/`;
}

function consoleEnvironment(ports: Ports): Environment {
  return {
    CONSOLE_HOST: HOST,
    CONSOLE_PORT: String(ports.of(CONSOLE)),
    // On the own machine browsers come over http, where a cookie for https alone would be lost.
    CONSOLE_SECURE_COOKIES: "off",
    CONSOLE_API_URL: serviceUrl(ports, "gateway"),
  };
}

function variableOf(service: string): string {
  return `${service.replaceAll("-", "_").toUpperCase()}_URL`;
}
