import { type Clock, delay, systemClock } from "@kapi/kernel";
import { setFlagsFromString } from "node:v8";
import { z } from "zod";

import { ConfigError, type Environment, loadConfig } from "./config.ts";
import { configFields } from "./config-fields.ts";
import { connectionFields, type PostgresSettings } from "./connection-fields.ts";
import { Health } from "./health.ts";
import { createLogger, type Logger } from "./logger.ts";
import { Scope } from "./scope.ts";
import { startTelemetry, type Telemetry } from "./telemetry.ts";
import { logFields } from "./tracing.ts";

/** Maximum duration of the whole stop, from the signal. Orchestrators kill after 30 s. */
export const PROCESS_STOP_DEADLINE_MS = 25_000;

/**
 * Growth of the heap between two full garbage collections, in percent. By default V8 lets a heap of
 * 30 MB grow by about 10 MB, including the buffers of sockets. At a thousand messages per second
 * that caused a full collection every second, with pauses of 20 to 40 ms.
 */
const HEAP_GROWING_PERCENT = 200;

/** Interval of a timer that keeps the process alive: Node does not wait for signals. */
const STAY_ALIVE_MS = 2 ** 30;
const STOP_SIGNALS = ["SIGTERM", "SIGINT"] as const;
type StopSignal = (typeof STOP_SIGNALS)[number];

/**
 * The program's first argument in the job before new processes start: the process runs only the
 * migrations, and ends.
 */
const MIGRATE_COMMAND = "migrate";

/** Settings of every process, whatever its service. */
export const ProcessSchema = z.object({
  LOG_LEVEL: configFields.logLevel,
  METRICS: configFields.metrics,
  METRICS_PORT: configFields.metricsPort,
  STOP_DELAY_MS: configFields.stopDelayMs,
});

/** All settings of migrations: their job has no other setting or secret of its service. */
export const MigrationSchema = z.object({
  ...connectionFields.postgres,
  /**
   * The database role with which the service's processes connect, if not the one of POSTGRES_URL.
   * Each migration grants it the rights on the service's tables.
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

/** The options of {@link runMain}. */
export interface MainOptions<S extends z.ZodObject> {
  readonly service: string;
  readonly schema: S;
  /**
   * Starts all components through `context.scope`. The process is ready when it resolves. The value
   * is ignored.
   */
  start(context: MainContext<z.output<S>>): Promise<unknown>;
  /** Brings the service's schema up to date, for {@link MIGRATE_COMMAND}. */
  migrate?(context: MigrationContext): Promise<void>;
}

/**
 * Runs a process from its start to its exit. No other code may end the process.
 *
 * 1. Reads the configuration. Prints all problems on standard error, one line each, and exits 1.
 * 2. Starts the requested telemetry, then `options.start`. Logs "ready".
 * 3. Waits for SIGTERM or SIGINT. A second signal exits at once.
 * 4. Turns readiness off, waits STOP_DELAY_MS, stops all components, exits 0. The stop takes at
 *    most {@link PROCESS_STOP_DEADLINE_MS}.
 *
 * With the argument "migrate" the process only runs the migrations, with the settings of PostgreSQL
 * only, and exits 0. Exit code 1: a failed start, stop or migration, `fatal`, an uncaught
 * exception, an unhandled rejection.
 */
export async function runMain<S extends z.ZodObject>(options: MainOptions<S>): Promise<void> {
  // V8 reads this flag at each collection, so it may be set while the program runs.
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  if (process.argv[2] === MIGRATE_COMMAND) return runMigrations(options);
  const read = readConfig(options, options.schema, process.env);
  if (read === null) return process.exit(1);
  const telemetry = await startTelemetry(options.service, process.env);
  const fields = telemetry === null ? {} : { fields: logFields };
  const logger = createLogger({ service: options.service, level: read.logLevel, ...fields });
  telemetry?.logTo(logger);
  const fatal = endAtFatalErrors(logger);
  const signal = nextStopSignal();
  const health = new Health();
  const scope = new Scope();
  let state = "starting";
  health.readiness("start", () => (state === "starting" ? "starting" : null));

  const context = { config: read.config, scope, logger, health, clock: systemClock, fatal };
  const started = options.start(context).then(
    () => {
      state = "started";
      if (health.ready().ok) logger.info("ready");
      else logger.info({ reasons: health.ready().reasons }, "started, not ready yet");
    },
    async (error: unknown) => {
      // A start that a stop signal interrupted did not fail.
      if (state === "stopping") return;
      logger.fatal({ err: error }, "the start failed");
      await endWith(1, scope, logger, telemetry);
    },
  );
  const received = await Promise.race([signal, started.then(() => signal)]);
  // A process that never was ready got no requests, so it can stop without a delay.
  const delayMs = state === "started" ? read.stopDelayMs : 0;
  state = "stopping";
  logger.info({ signal: received, delayMs }, "stopping");
  health.beginStop();
  await endWith(0, scope, logger, telemetry, delayMs);
}

/** Runs the migrations and ends the process. */
async function runMigrations<S extends z.ZodObject>(options: MainOptions<S>): Promise<void> {
  const read = readConfig(options, MigrationSchema, process.env);
  if (read === null) return process.exit(1);
  const logger = createLogger({ service: options.service, level: read.logLevel });
  endAtFatalErrors(logger);
  await options.migrate?.({ config: read.config, logger });
  logger.info("the schema is up to date");
  process.exit(0);
}

/** Ends the process at uncaught errors. The returned function ends it with the given error. */
function endAtFatalErrors(logger: Logger): (error: unknown) => void {
  const fatal = (error: unknown): void => {
    logger.fatal({ err: error }, "fatal error, the process ends");
    process.exit(1);
  };
  process.on("uncaughtException", fatal);
  process.on("unhandledRejection", fatal);
  return fatal;
}

/**
 * Reads the fields of the service and the fields of every process. Prints all problems at once;
 * returns null if there are any.
 */
function readConfig<S extends z.ZodObject>(
  options: { readonly service: string },
  schema: S,
  env: Environment,
): { config: Readonly<z.output<S>>; logLevel: string; stopDelayMs: number } | null {
  const problems = new Set<string>();
  const config = collect(problems, () => loadConfig(schema, env));
  const own = collect(problems, () => loadConfig(ProcessSchema, env));
  if (config !== null && own !== null) return { config, logLevel: own.LOG_LEVEL, stopDelayMs: own.STOP_DELAY_MS };
  process.stderr.write(`${options.service} cannot start, its configuration has ${problems.size} problem(s):\n`);
  for (const problem of problems) process.stderr.write(`  ${problem}\n`);
  return null;
}

function collect<T>(problems: Set<string>, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) problems.add(problem);
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
 * does not stop cleanly and in time.
 */
async function endWith(
  exitCode: number,
  scope: Scope,
  logger: Logger,
  telemetry: Telemetry | null,
  delayMs = 0,
): Promise<void> {
  const late = setTimeout(() => {
    logger.fatal({ deadlineMs: PROCESS_STOP_DEADLINE_MS }, "the stop took too long, the process ends");
    process.exit(1);
  }, PROCESS_STOP_DEADLINE_MS);
  late.unref();
  await delay(delayMs);
  let clean = true;
  try {
    await scope.stop();
  } catch (error) {
    clean = false;
    logger.error({ err: error }, "not everything stopped cleanly");
  }
  await telemetry?.stop();
  if (clean) logger.info("stopped");
  process.exit(clean ? exitCode : 1);
}
