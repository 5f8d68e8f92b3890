import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { z } from "zod";

import { variablePrefix } from "@kapi/runtime";
import { LocalError, type Secrets, type ServerAddresses, serviceTokenDigests } from "@kapi/servers";
import type { Ports } from "./ports.ts";

const SERVICES_FOLDER = path.resolve(import.meta.dirname, "../../../../services");
const COMBINED_FOLDER = path.resolve(import.meta.dirname, "../../../combined");
const PROGRAMS_FILE = path.resolve(import.meta.dirname, "../../../programs.json");
const HOST = "127.0.0.1";

/**
 * Name of the port of the console's page. If the console service runs twice, only its first process
 * serves the page.
 */
export const CONSOLE_PAGE = "console-page";
const CONSOLE_PROCESS = "console";
const GATEWAY = "gateway";

/** The environment of one program. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The file `programs.json`: which of Kafka, PostgreSQL and Redis, which secrets and which other
 * services each program uses. `givenSecrets` are secrets of other systems, which the user sets.
 */
const Programs = z.record(
  z.string(),
  z.object({
    servers: z.array(z.string()),
    secrets: z.array(z.string()),
    optionalSecrets: z.array(z.string()).default([]),
    givenSecrets: z.array(z.string()).default([]),
    calls: z.array(z.string()),
  }),
);

/** The names of all services of this checkout. */
export function allServices(): string[] {
  return readdirSync(SERVICES_FOLDER)
    .filter((name) => existsSync(path.join(SERVICES_FOLDER, name, "src", "main.ts")))
    .toSorted();
}

/** The folder of a service. */
export function serviceFolder(service: string): string {
  return path.join(SERVICES_FOLDER, service);
}

/** The program that runs several services in one process. */
export const COMBINED = "combined";

/** The folder of the program of a process: of a service, or of {@link COMBINED}. */
export function programFolder(program: string): string {
  return program === COMBINED ? COMBINED_FOLDER : serviceFolder(program);
}

/** Suffix of the second process of a service: `gateway-2`. */
export const SECOND = "-2";

/**
 * The name of the port on which a process serves the live stream. The second process of metrics has
 * another port.
 */
export function livePort(process: string): string {
  return process === `metrics${SECOND}` ? `live${SECOND}` : "live";
}

/** The name of the port on which a gateway process answers the console service. */
export function internalPort(process: string): string {
  return `${process}-internal`;
}

/** The base address at a port. `service` is a name of {@link Ports}. */
export function serviceUrl(ports: Ports, service: string): string {
  return `http://${HOST}:${ports.of(service)}`;
}

/** The base address at which services call a service. Services call the gateway's internal port. */
function internalUrl(ports: Ports, service: string): string {
  return serviceUrl(ports, service === GATEWAY ? internalPort(service) : service);
}

/**
 * Secrets that are not generated for this machine. A program gets one of them only if its
 * `givenSecrets` name it, and the user has set it.
 */
const OTHER_SECRETS = ["INTERNAL_TOKEN", "CONTROL_TOKEN", "CONSOLE_SMTP_URL", "CONSOLE_OIDC_CLIENT_SECRET"];
const GIVEN_VARIABLES = OTHER_SECRETS.flatMap((variable) => [variable, `${variable}_FILE`]);

/**
 * The data from which the environments of all processes of a stack are computed. The data come from
 * a stack that is starting, or from the kept files of a running stack (kept-environment.ts).
 */
export interface PlanOptions {
  readonly servers: ServerAddresses;
  /** Empty: topics have no prefix. */
  readonly topicPrefix: string;
  /** Each process gets only the secrets that its program uses. */
  readonly secrets: Secrets;
  /** The chosen ports of the stack. */
  readonly ports: Ports;
  /** Environment variables of this process. The variables of the plan override them. */
  readonly base: Environment;
}

/**
 * The environment of a process, for example `gateway` or `gateway-2`. It contains `base`, the hosts
 * and ports of the process, and the variables of {@link programEnvironment}. All other secrets, and
 * other addresses of Kafka, PostgreSQL and Redis, are removed from `base`.
 */
export function serviceEnvironment(process: string, options: PlanOptions): Environment {
  const { ports } = options;
  const program = process.endsWith(SECOND) ? process.slice(0, -SECOND.length) : process;
  return {
    LOG_LEVEL: "info",
    ...options.base,
    HTTP_HOST: HOST,
    HTTP_PORT: String(ports.of(process)),
    LIVE_HOST: HOST,
    LIVE_PORT: String(ports.of(livePort(process))),
    ...programEnvironment(program, options),
    ...(program === GATEWAY ? { INTERNAL_HOST: HOST, INTERNAL_PORT: String(ports.of(internalPort(process))) } : {}),
    // Webhook receivers and trading servers run on this machine and use http.
    WEBHOOK_ALLOW_INSECURE: "true",
    TRADING_SERVER_ALLOW_INSECURE: "true",
    ...(process === CONSOLE_PROCESS ? consoleEnvironment(ports) : {}),
  };
}

/**
 * The environment of a process that runs several services. It contains `base` without the variables
 * that {@link serviceEnvironment} sets or removes, and the variables of each service with the
 * service's prefix. LOG_LEVEL is also for the process itself, and SERVICES lists the services.
 * `extra` has further variables by service.
 */
export function combinedEnvironment(
  services: readonly string[],
  options: PlanOptions,
  extra: Readonly<Record<string, Environment>>,
): Environment {
  const { LOG_LEVEL = "info" } = options.base;
  const given = Object.fromEntries(GIVEN_VARIABLES.map((name) => [name, options.base[name]]));
  const planned = services.map((service) => ({
    service,
    variables: { ...serviceEnvironment(service, { ...options, base: { ...given, LOG_LEVEL } }), ...extra[service] },
  }));
  const names = new Set(planned.flatMap(({ variables }) => Object.keys(variables)));
  const own = planned.flatMap(({ service, variables }) =>
    Object.entries(variables).map(([name, value]) => [variablePrefix(service) + name, value] as const),
  );
  return {
    ...Object.fromEntries(Object.entries(options.base).filter(([name]) => !names.has(name))),
    LOG_LEVEL,
    SERVICES: services.join(","),
    ...Object.fromEntries(own),
  };
}

/**
 * The variables of a program, for example `gateway` or `cli`: its secrets, the addresses of Kafka,
 * PostgreSQL and Redis if the program uses them, and the URLs of the services that it calls. The
 * variables of all other secrets, and of servers that the program does not use, are undefined.
 */
export function programEnvironment(program: string, options: PlanOptions): Environment {
  const { servers, ports } = options;
  const uses = Programs.parse(JSON.parse(readFileSync(PROGRAMS_FILE, "utf8")))[program];
  if (uses === undefined) throw new LocalError(`${PROGRAMS_FILE} does not have ${program}.`);
  const secrets = secretVariables(program, options.secrets);
  const addresses: Readonly<Record<string, Environment>> = {
    kafka: {
      KAFKA_BROKERS: servers.kafkaBrokers,
      KAFKA_TOPIC_PREFIX: options.topicPrefix === "" ? undefined : options.topicPrefix,
    },
    postgres: { POSTGRES_URL: servers.postgresUrl },
    redis: { REDIS_URL: servers.redisUrl, ...(servers.redisCluster === true ? { REDIS_CLUSTER: "on" } : {}) },
  };
  const named = [secrets, ...Object.values(addresses)].flatMap((variables) => Object.keys(variables));
  const everything = [...named.flatMap((variable) => [variable, `${variable}_FILE`]), ...GIVEN_VARIABLES];
  return {
    ...Object.fromEntries(everything.map((variable) => [variable, undefined])),
    ...Object.fromEntries(uses.servers.flatMap((server) => Object.entries(addresses[server] ?? {}))),
    ...Object.fromEntries(
      [...uses.secrets, ...uses.optionalSecrets]
        .map(variableOf)
        .flatMap((variable) => (secrets[variable] === undefined ? [] : [[variable, secrets[variable]]])),
    ),
    // Secrets of other systems come from the user's shell.
    ...Object.fromEntries(
      uses.givenSecrets.map(variableOf).flatMap((variable) => {
        const given = [variable, `${variable}_FILE`].filter((name) => options.base[name] !== undefined);
        return given.map((name) => [name, options.base[name]]);
      }),
    ),
    ...Object.fromEntries(uses.calls.map((other) => [`${variableOf(other)}_URL`, internalUrl(ports, other)])),
  };
}

function secretVariables(program: string, secrets: Secrets): Environment {
  const { operator, ...services } = secrets.serviceTokens;
  return {
    SERVICE_TOKEN: Object.entries(services).find(([caller]) => caller === program)?.[1],
    SERVICE_TOKEN_DIGESTS: serviceTokenDigests(secrets),
    OPERATOR_TOKEN: operator,
    TRADING_SERVER_TOKEN: secrets.tradingServerToken,
    PASSWORD_DERIVATION_KEYS: secrets.passwordDerivationKeys,
    PASSWORD_SEALING_KEYS: secrets.passwordSealingKeys,
    FINGERPRINT_KEY: secrets.fingerprintKey,
    WEBHOOK_SEALING_KEYS: secrets.webhookSealingKeys,
    EVIDENCE_SIGNING_KEYS: secrets.evidenceSigningKeys,
    TRADING_SERVER_SEALING_KEYS: secrets.tradingServerSealingKeys,
    CONSOLE_SEALING_KEYS: secrets.consoleSealingKeys,
  };
}

/** The base address of the console's page, for browsers. */
export function consoleUrl(ports: Ports): string {
  return `${serviceUrl(ports, CONSOLE_PAGE)}/console/`;
}

function consoleEnvironment(ports: Ports): Environment {
  return {
    CONSOLE_HOST: HOST,
    CONSOLE_PORT: String(ports.of(CONSOLE_PAGE)),
    // Browsers on this machine use http and do not send secure cookies over http.
    CONSOLE_SECURE_COOKIES: "off",
    CONSOLE_API_URL: serviceUrl(ports, "gateway"),
  };
}

/** The variable of a secret; for a service, its URL variable without the suffix `_URL`. */
function variableOf(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}
