import { type Clock, delay, systemClock } from "@kapi/kernel";
import { setFlagsFromString } from "node:v8";
import { z } from "zod";

import { ConfigError, type Environment, FILE_SUFFIX, loadConfig } from "./config.ts";
import { configFields } from "./config-fields.ts";
import { connectionFields, type PostgresSettings } from "./connection-fields.ts";
import { Health } from "./health.ts";
import { createLogger, type Logger } from "./logger.ts";
import { Scope } from "./scope.ts";
import { startTelemetry, type Telemetry } from "./telemetry.ts";
import { logFields } from "./tracing.ts";

/** Maximum duration of the whole stop, from the signal. Orchestrators must allow more: 30 s. */
export const PROCESS_STOP_DEADLINE_MS = 25_000;

/**
 * Growth of the heap between two full garbage collections, in percent. By default V8 lets a heap of
 * 30 MB grow by about 10 MB, including the buffers of sockets. At a thousand messages per second
 * that caused a full collection every second, with pauses of 20 to 40 ms.
 */
const HEAP_GROWING_PERCENT = 200;

/** Interval of a timer that keeps the process alive: handlers of signals alone do not. */
const STAY_ALIVE_MS = 2 ** 30;
const STOP_SIGNALS = ["SIGTERM", "SIGINT"] as const;
type StopSignal = (typeof STOP_SIGNALS)[number];

/**
 * First argument of a migration job, which runs before new processes start: the process runs only
 * the migrations, then ends.
 */
const MIGRATE_COMMAND = "migrate";

/** Settings of every process, whatever its service. */
export const ProcessSchema = z.object({
  LOG_LEVEL: configFields.logLevel,
  METRICS: configFields.metrics,
  METRICS_PORT: configFields.metricsPort,
  STOP_DELAY_MS: configFields.stopDelayMs,
});
type ProcessSettings = Readonly<z.output<typeof ProcessSchema>>;

/** Settings of migrations. Their job needs no other setting and no secret of its service. */
export const MigrationSchema = z.object({
  ...connectionFields.postgres,
  /**
   * The database role with which the service's processes connect, if not the one of POSTGRES_URL.
   * Each migration job grants this role the rights on the service's tables.
   */
  POSTGRES_SERVICE_ROLE: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/, "must be the plain name of a role: lower-case letters, digits and underscores")
    .optional(),
});
export type MigrationSettings = Readonly<z.output<typeof MigrationSchema>>;

/** The dependencies of a service's composition root. */
export interface MainContext<Config> {
  readonly config: Readonly<Config>;
  readonly scope: Scope;
  readonly logger: Logger;
  readonly health: Health;
  readonly clock: Clock;
  /**
   * Logs the error and ends the process at once with exit code 1, for states from which only a
   * restart recovers.
   */
  readonly fatal: (error: unknown) => void;
}

/** The dependencies of migrations. */
export type MigrationContext = Pick<MainContext<PostgresSettings | MigrationSettings>, "config" | "logger">;

/** A service, as its process runs it. */
export interface ServiceProgram<S extends z.ZodObject = z.ZodObject> {
  readonly service: string;
  readonly schema: S;
  /**
   * Starts all components through `context.scope`. Until the promise resolves, the service is not
   * ready. The resolved value is ignored.
   */
  start(context: MainContext<z.output<S>>): Promise<unknown>;
  /** Brings the service's schema up to date, for {@link MIGRATE_COMMAND}. */
  migrate?(context: MigrationContext): Promise<void>;
  /**
   * Whether the service stops before the other services of its process: its requests need the other
   * services. Default false.
   */
  readonly stopsFirst?: boolean;
}

/** A service of this process, and its environment variables. */
interface ProcessService {
  readonly program: ServiceProgram;
  readonly env: Environment;
}

/** A service of this process, and its settings. */
interface ConfiguredService<Config> {
  readonly program: ServiceProgram;
  readonly config: Readonly<Config>;
}

/** A service of this process, and its dependencies. */
interface RunningService {
  readonly program: ServiceProgram;
  readonly context: MainContext<unknown>;
}

/**
 * Runs the process of a service from its start to its exit. No other code may end the process.
 *
 * 1. Reads the configuration. Prints all problems on standard error, one line each, and exits 1.
 * 2. Starts the requested telemetry, then `program.start`. Logs "ready", or
 *    "started, not ready yet".
 * 3. Waits for SIGTERM or SIGINT. A second signal exits at once.
 * 4. Turns readiness off, stops all components, exits 0. If the start was complete, it waits
 *    STOP_DELAY_MS before the components stop. The stop takes at most
 *    {@link PROCESS_STOP_DEADLINE_MS}.
 *
 * With the argument "migrate" the process only runs the migrations and exits 0. Of the service's
 * settings it needs only those of PostgreSQL. Exit code 1: a wrong configuration, a failed start,
 * stop or migration, a second signal, `fatal`, an uncaught exception, an unhandled rejection.
 */
export function runMain<S extends z.ZodObject>(program: ServiceProgram<S>): Promise<void> {
  return runProcess(program.service, [{ program, env: process.env }]);
}

/**
 * Runs several services in one process, as {@link runMain} runs one service. All services start at
 * the same time. If a start fails, the process ends. Each service has its own settings ({@link
 * variablesOf}), log lines and components. The health probes of every service report on all
 * services of the process.
 * @param name of the process in its log lines and in OpenTelemetry.
 */
export function runTogether(name: string, programs: readonly ServiceProgram[]): Promise<void> {
  return runProcess(
    name,
    programs.map((program) => ({ program, env: variablesOf(program.service, process.env) })),
  );
}

/**
 * The variables of one service in the environment of a process with several services. The variable
 * `COMMAND_STATUS__HTTP_PORT` is HTTP_PORT for the service command-status only, and overrides
 * HTTP_PORT, which is for all services. `COMMAND_STATUS__TOKEN_FILE` overrides TOKEN too.
 */
export function variablesOf(service: string, env: Environment): Environment {
  const prefix = variablePrefix(service);
  const own = Object.entries(env).flatMap(([name, value]): [string, string | undefined][] =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
  );
  const fromFiles = own.flatMap(([name, value]): [string, undefined][] =>
    name.endsWith(FILE_SUFFIX) && value !== "" ? [[name.slice(0, -FILE_SUFFIX.length), undefined]] : [],
  );
  return { ...env, ...Object.fromEntries(fromFiles), ...Object.fromEntries(own) };
}

/** The prefix of one service's variables in a process with several services. */
export function variablePrefix(service: string): string {
  return `${service.replaceAll("-", "_").toUpperCase()}__`;
}

async function runProcess(name: string, services: readonly ProcessService[]): Promise<void> {
  // V8 reads this flag at each collection, so it takes effect although the program already runs.
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  if (process.argv[2] === MIGRATE_COMMAND) return runMigrations(name, services);
  const read = readConfigs(name, services, ({ schema }) => schema);
  if (read === null) return process.exit(1);
  const telemetry = await startTelemetry(name, process.env);
  const fields = telemetry === null ? {} : { fields: logFields };
  const logger = createLogger({ service: name, level: read.own.LOG_LEVEL, ...fields });
  telemetry?.logTo(logger);
  endAtUncaughtErrors(logger);
  const signal = nextStopSignal();
  const running = read.configured.map(({ program, config }): RunningService => {
    const own = createLogger({ service: program.service, level: read.own.LOG_LEVEL, ...fields });
    const context = { config, scope: new Scope(), logger: own, health: new Health() };
    return { program, context: { ...context, clock: systemClock, fatal: (error) => endAtOnce(own, error) } };
  });
  Health.join(new Map(running.map(({ program, context }) => [program.service, context.health])));
  let state = "starting";
  const starts = running.map(async ({ program, context }) => {
    const { logger: own, health } = context;
    let isStarting = true;
    health.readiness("start", () => (isStarting ? "starting" : null));
    try {
      await program.start(context);
    } catch (error) {
      // Ignored: a stop signal, or another service's failed start, interrupted this start.
      if (state !== "starting") return;
      state = "failed";
      own.fatal({ err: error }, "the start failed");
      await endWith(1, running, logger, telemetry);
      return;
    }
    isStarting = false;
    const { ok, reasons } = health.ownReady();
    if (ok) own.info("ready");
    else own.info({ reasons }, "started, not ready yet");
  });
  const started = Promise.all(starts).then(() => {
    if (state === "starting") state = "started";
  });
  const received = await Promise.race([signal, started.then(() => signal)]);
  // The failed start ends the process.
  if (state === "failed") return;
  // During its start a process is not ready and gets no requests, so it stops without a delay.
  const delayMs = state === "started" ? read.own.STOP_DELAY_MS : 0;
  state = "stopping";
  // When a start fails, the components that it had started are stopped. Until they have stopped,
  // `state` is not "failed". Such a failure is reported in spite of the signal.
  const failed = running.filter(({ context }) => context.scope.startFailure !== null);
  for (const { context } of failed) context.logger.fatal({ err: context.scope.startFailure }, "the start failed");
  logger.info({ signal: received, delayMs }, "stopping");
  await endWith(failed.length > 0 ? 1 : 0, running, logger, telemetry, delayMs);
}

/** Runs the migrations of all services, one after another, and ends the process. */
async function runMigrations(name: string, services: readonly ProcessService[]): Promise<void> {
  const read = readConfigs(name, services, () => MigrationSchema);
  if (read === null) return process.exit(1);
  const logger = createLogger({ service: name, level: read.own.LOG_LEVEL });
  endAtUncaughtErrors(logger);
  for (const { program, config } of read.configured) await program.migrate?.({ config, logger });
  logger.info("the schema is up to date");
  process.exit(0);
}

/** Ends the process at uncaught exceptions and unhandled rejections. */
function endAtUncaughtErrors(logger: Logger): void {
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => endAtOnce(logger, error));
  }
}

function endAtOnce(logger: Logger, error: unknown): void {
  logger.fatal({ err: error }, "fatal error, the process ends");
  process.exit(1);
}

/**
 * Reads the settings of the process ({@link ProcessSchema}), and the settings of each service from
 * its variables. Prints all problems at once; returns null if there are any.
 */
function readConfigs<S extends z.ZodObject>(
  name: string,
  services: readonly ProcessService[],
  schemaOf: (program: ServiceProgram) => S,
): { readonly own: ProcessSettings; readonly configured: readonly ConfiguredService<z.output<S>>[] } | null {
  const problems = new Set<string>();
  const configured = services.flatMap(({ program, env }) => {
    const label = services.length === 1 ? "" : `${program.service}: `;
    const config = collect(problems, label, () => loadConfig(schemaOf(program), env));
    return config === null ? [] : [{ program, config }];
  });
  const own = collect(problems, "", () => loadConfig(ProcessSchema, process.env));
  if (own !== null && problems.size === 0) return { own, configured };
  process.stderr.write(`${name} cannot start, its configuration has ${problems.size} problem(s):\n`);
  for (const problem of problems) process.stderr.write(`  ${problem}\n`);
  return null;
}

function collect<T>(problems: Set<string>, label: string, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) problems.add(label + problem);
    return null;
  }
}

/**
 * Resolves at the first stop signal; a second signal ends the process at once. Keeps an idle
 * process alive.
 */
function nextStopSignal(): Promise<StopSignal> {
  setInterval(() => undefined, STAY_ALIVE_MS);
  return new Promise((resolve) => {
    let received = 0;
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        received += 1;
        if (received > 1) process.exit(1);
        resolve(signal);
      });
    }
  });
}

/**
 * Stops everything after `delayMs` and ends the process with `exitCode`, or with 1 if a component
 * fails to stop or the stop takes too long.
 */
async function endWith(
  exitCode: number,
  running: readonly RunningService[],
  logger: Logger,
  telemetry: Telemetry | null,
  delayMs = 0,
): Promise<void> {
  const late = setTimeout(() => {
    logger.fatal({ deadlineMs: PROCESS_STOP_DEADLINE_MS }, "the stop took too long, the process ends");
    process.exit(1);
  }, PROCESS_STOP_DEADLINE_MS);
  late.unref();
  for (const { context } of running) context.health.beginStop();
  await delay(delayMs);
  const stopsFirst = ({ program }: RunningService): boolean => program.stopsFirst === true;
  const first = await stopAll(running.filter(stopsFirst));
  const others = await stopAll(running.filter((service) => !stopsFirst(service)));
  await telemetry?.stop();
  const isClean = first && others;
  if (isClean) logger.info("stopped");
  process.exit(isClean ? exitCode : 1);
}

/** Stops services at the same time. Returns whether every component stopped cleanly. */
async function stopAll(services: readonly RunningService[]): Promise<boolean> {
  const stopped = await Promise.all(
    services.map(async ({ context: { scope, logger } }) => {
      try {
        await scope.stop();
        return true;
      } catch (error) {
        logger.error({ err: error }, "not everything stopped cleanly");
        return false;
      }
    }),
  );
  return stopped.every(Boolean);
}
