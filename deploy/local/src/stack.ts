import path from "node:path";

import { createKafka, createTopics } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";

import {
  addressesOf,
  type Clusters,
  type RunningServer,
  startClusters,
  createDatabase,
  databaseUrl,
  keptSecrets,
  LocalError,
  type Report,
  type Secrets,
  type ServerAddresses,
  serverContext,
  type Servers,
  silentReport,
  startServersIn,
  StateRecord,
} from "@kapi/servers";
import { buildConsole } from "./services/console-build.ts";
import { keepAddresses } from "./services/kept-environment.ts";
import {
  allServices,
  CONSOLE_PAGE,
  consoleUrl,
  type Environment,
  livePort,
  type PlanOptions,
  SECOND,
  serviceEnvironment,
  serviceUrl,
} from "./services/plan.ts";
import { type AskedPorts, choosePorts, type Ports } from "./services/ports.ts";
import { ServiceProcess } from "./services/service-process.ts";

const PARTITIONS = 4;
const ONE_COPY = { replicationFactor: 1, minInsyncReplicas: 1 };
const DEFAULT_DATABASE = "kapi";
/** The service that serves the console's page. */
const CONSOLE_OWNER = "console";

export interface StackOptions {
  /** Holds everything that is kept between starts; one running stack each. */
  readonly stateDir: string;
  /** Servers that run already; without them they are started, and stopped with the stack. */
  readonly servers?: ServerAddresses;
  /**
   * Start a cluster of each server instead of one node; only where `servers` does not name them.
   */
  readonly clusters?: boolean;
  /** Database on the PostgreSQL server, created if it is not there. */
  readonly database?: string;
  /** Before every topic name, so that several stacks can share a Kafka. */
  readonly topicPrefix?: string;
  /** Ports asked for, by service, "live" for the live stream, and "console-page". */
  readonly ports?: AskedPorts;
  /** Ports to take when nothing speaks against it. */
  readonly preferredPorts?: AskedPorts;
  /** Extra variables: under "all" for every service, under a service's name for that one. */
  readonly env?: Readonly<Record<string, Environment>>;
  /** All of the checkout by default. */
  readonly services?: readonly string[];
  /**
   * Services that run twice: the second process of `gateway` is named `gateway-2` and has a port of
   * its own.
   */
  readonly twice?: readonly string[];
  /** Start a service again when it dies; tests do that themselves. */
  readonly supervised?: boolean;
  /**
   * How often each service is started at most until it is ready; once by default. A busy machine
   * needs more.
   */
  readonly startTries?: number;
  readonly report?: Report;
  /** Gives the start up and takes back what it has done. */
  readonly signal?: AbortSignal;
}

/** A running kapi on this machine. */
export interface Stack {
  /** Base address of the management API. */
  readonly baseUrl: string;
  /** Base address of the live stream. */
  readonly wsBase: string;
  readonly tradingServerUrl: string;
  /** The console's page. */
  readonly consoleUrl: string;
  readonly servers: ServerAddresses;
  readonly topicPrefix: string;
  readonly secrets: Secrets;
  /**
   * Base address of the live stream of one metrics process: `metrics`, or `metrics-2` where it runs
   * twice.
   */
  liveUrl(process: string): string;
  /** Base address of any service. */
  url(service: string): string;
  /** The process of a service; throws for one that is not of this stack. */
  process(service: string): ServiceProcess;
  readonly processes: ReadonlyMap<string, ServiceProcess>;
  /** Stops services, then servers, then forgets the run. State is kept. */
  stop(): Promise<void>;
}

/**
 * Starts servers, topics and services, and returns when every service is ready. Whatever fails,
 * nothing stays behind.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const record = await StateRecord.open(options.stateDir);
  const stops: (() => Promise<void>)[] = [() => record.close()];
  const stop = async (): Promise<void> => {
    for (const step of stops.splice(0).toReversed()) await step();
  };
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  options.signal?.addEventListener("abort", () => reject(new LocalError("The start was given up.")), { once: true });
  try {
    return await Promise.race([assemble(options, record, { add: (step) => stops.push(step), stop }), givenUp]);
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Stops {
  add(step: () => Promise<void>): void;
  stop(): Promise<void>;
}

async function assemble(options: StackOptions, record: StateRecord, stops: Stops): Promise<Stack> {
  const { stateDir, report = silentReport, topicPrefix = "" } = options;
  const secrets = keptSecrets(stateDir);
  const given = await serversOf(options, record, stops);
  const beganMs = Date.now();
  const [postgresUrl] = await Promise.all([ownDatabase(options, given), createTopicsOn(given, topicPrefix)]);
  report.done("database and topics", beganMs);
  const servers: ServerAddresses = { ...addressesOf(given), postgresUrl };
  const everything = allServices();
  const programs = programsOf(options.services ?? everything, options.twice ?? []);
  if ([...programs.values()].includes(CONSOLE_OWNER)) await buildConsole(report);
  const names = [
    // The page first: services of this name may have had its port at the last start.
    ...new Set([CONSOLE_PAGE, ...everything, ...programs.keys(), ...[...programs.keys(), "metrics"].map(livePort)]),
  ];
  const ports = await choosePorts(stateDir, names, options.ports ?? {}, options.preferredPorts ?? {});
  const forgetAddresses = keepAddresses(stateDir, { servers, topicPrefix });
  stops.add(() => Promise.resolve(forgetAddresses()));
  const plan: PlanOptions = { servers, topicPrefix, secrets, ports, base: process.env };
  const processes = new Map<string, ServiceProcess>();
  for (const [name, program] of programs) {
    const environment = { ...serviceEnvironment(name, plan), ...options.env?.["all"] };
    const url = serviceUrl(ports, name);
    const { supervised = false, startTries = 1 } = options;
    const own = { name, program, url, stateDir, environment, record, report, supervised, startTries };
    processes.set(name, new ServiceProcess(own));
  }
  stops.add(() => stopServices(processes));
  await startServices(processes, options, report);
  return describe({ servers, topicPrefix, secrets, ports, processes, stop: () => stops.stop() });
}

/** Every process by its name, and the service that it is. */
function programsOf(services: readonly string[], twice: readonly string[]): Map<string, string> {
  return new Map([
    ...services.map((name) => [name, name] as const),
    ...twice.map((name) => [name + SECOND, name] as const),
  ]);
}

function describe(parts: {
  servers: ServerAddresses;
  topicPrefix: string;
  secrets: Secrets;
  ports: Ports;
  processes: ReadonlyMap<string, ServiceProcess>;
  stop(): Promise<void>;
}): Stack {
  const { servers, topicPrefix, secrets, ports, processes } = parts;
  return {
    servers,
    topicPrefix,
    secrets,
    processes,
    baseUrl: serviceUrl(ports, "gateway"),
    wsBase: liveUrl(ports, "metrics"),
    liveUrl: (process) => liveUrl(ports, process),
    tradingServerUrl: serviceUrl(ports, "trading-simulator"),
    consoleUrl: consoleUrl(ports),
    url: (service) => serviceUrl(ports, service),
    process: (service) => {
      const found = processes.get(service);
      if (found === undefined) throw new Error(`${service} is not part of this stack`);
      return found;
    },
    stop: () => parts.stop(),
  };
}

function liveUrl(ports: Ports, process: string): string {
  return `ws://127.0.0.1:${ports.of(livePort(process))}`;
}

async function serversOf(
  options: StackOptions,
  record: StateRecord,
  stops: Stops,
): Promise<Servers | Clusters | ServerAddresses> {
  if (options.servers !== undefined) return { ...options.servers };
  const { stateDir, report = silentReport } = options;
  const context = serverContext(
    { stateDir: options.clusters === true ? path.join(stateDir, "clusters") : stateDir, report },
    record,
  );
  const servers = options.clusters === true ? await startClusters(context) : await startServersIn(context);
  stops.add(() => servers.stop());
  return servers;
}

/**
 * The database asked for; else the one that the given address names; else a database of its own on
 * a started server.
 */
async function ownDatabase(options: StackOptions, servers: Servers | Clusters | ServerAddresses): Promise<string> {
  const started = "running" in servers ? servers.running.some(isStartedPostgres) : "postgres" in servers;
  const named = new URL(servers.postgresUrl).pathname.slice(1);
  const database = options.database ?? (started || named === "" ? DEFAULT_DATABASE : named);
  await createDatabase(servers.postgresUrl, database);
  return databaseUrl(servers.postgresUrl, database);
}

function isStartedPostgres({ name, way }: RunningServer): boolean {
  return name === "postgres" && way !== "given";
}

async function createTopicsOn(servers: ServerAddresses, topicPrefix: string): Promise<void> {
  const logger = createLogger({ service: "local", level: "error" });
  const brokers = servers.kafkaBrokers.split(",");
  const kafka = createKafka({ brokers, clientId: "kapi-local", topicPrefix, logger });
  const { replicationFactor, minInsyncReplicas } = servers.kafkaReplicas ?? ONE_COPY;
  await createTopics(kafka, { partitions: PARTITIONS, replicationFactor, minInsyncReplicas });
}

async function startServices(
  processes: ReadonlyMap<string, ServiceProcess>,
  options: StackOptions,
  report: Report,
): Promise<void> {
  const started = await Promise.allSettled(
    [...processes.values()].map(async (service) => {
      const beganMs = Date.now();
      await service.start(options.env?.[service.program]);
      report.done(service.name, beganMs);
    }),
  );
  for (const result of started) if (result.status === "rejected") throw result.reason;
}

/**
 * The gateways first, so that what they have let in is still worked on; then the others together.
 */
async function stopServices(processes: ReadonlyMap<string, ServiceProcess>): Promise<void> {
  const gateways = [...processes.values()].filter(({ program }) => program === "gateway");
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await Promise.all([...processes.values()].map((service) => service.stop()));
}
