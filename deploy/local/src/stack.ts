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
import { forgetAddresses, keepAddresses } from "./services/kept-environment.ts";
import {
  allServices,
  COMBINED,
  combinedEnvironment,
  CONSOLE_PAGE,
  consoleUrl,
  type Environment,
  internalPort,
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
/** The name of the process that runs all services. */
const TOGETHER = "kapi";
/** The service that serves the console's page. */
const CONSOLE_OWNER = "console";

/**
 * Choices of the caller of {@link startStack}: `npm start`, or a test. Only `stateDir` is required.
 */
export interface StackOptions {
  /** Folder of all state that is kept between starts. Only one stack at a time may use it. */
  readonly stateDir: string;
  /** Servers that already run. By default the stack starts and stops its own servers. */
  readonly servers?: ServerAddresses;
  /**
   * Start clusters of Kafka, PostgreSQL and Redis instead of single nodes. Ignored if `servers` is
   * set.
   */
  readonly clusters?: boolean;
  /** Database on the PostgreSQL server; created if missing. */
  readonly database?: string;
  /** Prefix of every topic name, so that several stacks can share a Kafka. */
  readonly topicPrefix?: string;
  /** Requested ports, by the names of {@link Ports}. */
  readonly ports?: AskedPorts;
  /** Default ports. The port of the last start has precedence if it is free. */
  readonly preferredPorts?: AskedPorts;
  /** Extra variables, by service; "all" is for every service. */
  readonly env?: Readonly<Record<string, Environment>>;
  /** By default all services of the checkout. */
  readonly services?: readonly string[];
  /**
   * Run all services in one process named {@link TOGETHER}. By default each service has its own
   * process.
   */
  readonly together?: boolean;
  /** Services that run twice. The second process of `gateway` is `gateway-2`, on another port. */
  readonly twice?: readonly string[];
  /** Restart a service when it dies. */
  readonly supervised?: boolean;
  /**
   * Maximum number of starts of each service until it is ready; 1 by default. A busy machine needs
   * more.
   */
  readonly startTries?: number;
  readonly report?: Report;
  /** Aborts the start: everything that it has started is stopped. */
  readonly signal?: AbortSignal;
}

/** A running kapi on this machine. */
export interface Stack {
  /** Base address of the management API. */
  readonly baseUrl: string;
  /** Base address of the live stream. */
  readonly wsBase: string;
  readonly tradingServerUrl: string;
  /** URL of the console's page. */
  readonly consoleUrl: string;
  readonly servers: ServerAddresses;
  readonly topicPrefix: string;
  readonly secrets: Secrets;
  /** Base address of the live stream of one metrics process: `metrics` or `metrics-2`. */
  liveUrl(process: string): string;
  /** Base address of any service. */
  url(service: string): string;
  /** The process of a service. Throws if the service shares a process, or is not in this stack. */
  process(service: string): ServiceProcess;
  readonly processes: ReadonlyMap<string, ServiceProcess>;
  /** The names of the services of this stack. */
  readonly services: ReadonlySet<string>;
  /** Stops the services, then the servers, then closes the state record. Keeps the state. */
  stop(): Promise<void>;
}

/**
 * Starts servers, creates topics, starts services, and returns when every service is ready. If a
 * step fails, everything that was started is stopped.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const record = await StateRecord.open(options.stateDir);
  const stops: (() => Promise<void>)[] = [() => record.close()];
  const stop = async (): Promise<void> => {
    for (const step of stops.splice(0).toReversed()) await step();
  };
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const aborted = new LocalError("The start was aborted.");
  options.signal?.addEventListener("abort", () => reject(aborted), { once: true });
  try {
    if (options.signal?.aborted === true) throw aborted;
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
  forgetAddresses(stateDir);
  const secrets = keptSecrets(stateDir);
  const given = await serversOf(options, record, stops);
  const beganMs = Date.now();
  const [postgresUrl] = await Promise.all([ownDatabase(options, given), createTopicsOn(given, topicPrefix)]);
  report.done("database and topics", beganMs);
  const servers: ServerAddresses = { ...addressesOf(given), postgresUrl };
  const everything = allServices();
  const services = options.services ?? everything;
  const second = (options.twice ?? []).map((name) => name + SECOND);
  if (services.includes(CONSOLE_OWNER)) await buildConsole(report);
  const names = [
    // The page's port is chosen first. Otherwise a service could take the page's default port, if
    // the service had it at the last start.
    ...new Set([
      CONSOLE_PAGE,
      ...everything,
      ...second,
      ...[...second, "metrics"].map(livePort),
      ...["gateway", ...second].map(internalPort),
    ]),
  ];
  const ports = await choosePorts(stateDir, names, options.ports ?? {}, options.preferredPorts ?? {});
  keepAddresses(stateDir, { servers, topicPrefix });
  stops.add(() => Promise.resolve(forgetAddresses(stateDir)));
  const plan: PlanOptions = { servers, topicPrefix, secrets, ports, base: process.env };
  const processes = new Map<string, ServiceProcess>();
  const { supervised = false, startTries = 1, env = {} } = options;
  const addProcess = (name: string, program: string, urls: readonly string[], planned: Environment): void => {
    const environment = { ...planned, ...env["all"] };
    const own = { name, program, urls, stateDir, environment, record, report, supervised, startTries };
    processes.set(name, new ServiceProcess(own));
  };
  const addService = (name: string, program: string): void =>
    addProcess(name, program, [serviceUrl(ports, name)], serviceEnvironment(name, plan));
  if (options.together === true) {
    const urls = services.map((name) => serviceUrl(ports, name));
    addProcess(TOGETHER, COMBINED, urls, combinedEnvironment(services, plan, env));
  } else {
    for (const name of services) addService(name, name);
  }
  for (const name of options.twice ?? []) addService(name + SECOND, name);
  stops.add(() => stopServices(processes));
  await startServices(processes, options, report);
  const running = new Set(services);
  return describe({ servers, topicPrefix, secrets, ports, processes, services: running, stop: () => stops.stop() });
}

function describe(parts: {
  servers: ServerAddresses;
  topicPrefix: string;
  secrets: Secrets;
  ports: Ports;
  processes: ReadonlyMap<string, ServiceProcess>;
  services: ReadonlySet<string>;
  stop(): Promise<void>;
}): Stack {
  const { servers, topicPrefix, secrets, ports, processes, services } = parts;
  return {
    servers,
    topicPrefix,
    secrets,
    processes,
    services,
    baseUrl: serviceUrl(ports, "gateway"),
    wsBase: liveUrl(ports, "metrics"),
    liveUrl: (process) => liveUrl(ports, process),
    tradingServerUrl: serviceUrl(ports, "trading-simulator"),
    consoleUrl: consoleUrl(ports),
    url: (service) => serviceUrl(ports, service),
    process: (service) => {
      const found = processes.get(service);
      if (found === undefined) throw new Error(`${service} has no separate process in this stack`);
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
 * Creates the stack's database if it is missing, and returns its URL. A requested database has
 * precedence over the database in the given address. {@link DEFAULT_DATABASE} is used if this stack
 * started PostgreSQL, or if the address names no database.
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

/** Stops the gateways first, so that the other services can finish the accepted requests. */
async function stopServices(processes: ReadonlyMap<string, ServiceProcess>): Promise<void> {
  const gateways = [...processes.values()].filter(({ program }) => program === "gateway");
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await Promise.all([...processes.values()].map((service) => service.stop()));
}
