import type { ChildProcess } from "node:child_process";
import { existsSync, renameSync } from "node:fs";
import path from "node:path";

import { assertDefined, delay } from "@kapi/kernel";

import {
  endProcess,
  type Entry,
  isAlive,
  lastLines,
  LocalError,
  type ProcessId,
  type Report,
  signalProcess,
  spawnProcess,
  type StateRecord,
} from "@kapi/servers";
import { type Environment, programFolder } from "./plan.ts";

const READY_DEADLINE_MS = 45_000;
const READY_POLL_MS = 50;
const READY_REQUEST_TIMEOUT_MS = 2_000;
/** A service exits within 25 s after SIGTERM. */
const STOP_DEADLINE_MS = 28_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
/** If a process ran this long, the delay before its restart is {@link FIRST_RETRY_MS} again. */
const STEADY_MS = 30_000;
const LOG_LINES = 12;
const LATE_START_ADVICE =
  "If its log has no error, the machine was busy: start again, the state is kept. Otherwise fix that error first. ";

interface ServiceOptions {
  /** Name of the process and of its log file. */
  readonly name: string;
  /** The name of the service, or `COMBINED`. */
  readonly program: string;
  /** The base addresses of its services: one, except for a process of several services. */
  readonly urls: readonly string[];
  readonly stateDir: string;
  readonly environment: Environment;
  readonly record: StateRecord;
  readonly report: Report;
  /** Restart the process when it dies. */
  readonly supervised: boolean;
  /** Maximum number of starts if the process ends before it is ready; 1 by default. */
  readonly startTries?: number;
}

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Life {
  readonly id: ProcessId;
  readonly entry: Entry;
  readonly ended: Promise<Ending>;
  readonly beganMs: number;
}

/** A process of kapi. Tests can kill, pause and restart the process. */
export class ServiceProcess {
  readonly name: string;
  readonly program: string;
  readonly url: string;
  readonly logFile: string;
  readonly #options: ServiceOptions;
  #extra: Environment = {};
  #life: Life | null = null;
  #supervised = false;
  #deaths = 0;
  readonly #endings: Ending[] = [];

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.name = options.name;
    this.program = options.program;
    this.url = assertDefined(options.urls[0], `an address of ${options.name}`);
    this.logFile = path.join(options.stateDir, "logs", `${options.name}.log`);
    if (existsSync(this.logFile)) renameSync(this.logFile, this.logFile.replace(/\.log$/, ".previous.log"));
  }

  /** The process id, or null while the process does not run. */
  get pid(): number | null {
    return this.#life !== null && isAlive(this.#life.id) ? this.#life.id.pid : null;
  }

  /** Every end of the process while it was supervised, except by `stop`; oldest first. */
  get endings(): readonly Ending[] {
    return this.#endings;
  }

  /** Starts the process with `extra` variables, and waits until the service is ready. */
  async start(extra: Environment = {}): Promise<void> {
    this.#extra = extra;
    await this.#spawnUntilReady(this.#options.startTries ?? 1);
    this.#supervised = this.#options.supervised;
  }

  /** Sends a signal: SIGKILL for a crash, SIGSTOP to pause the process, SIGCONT to resume it. */
  kill(signal: NodeJS.Signals): void {
    if (this.#life !== null) signalProcess(this.#life.id, signal);
  }

  /** Waits until the process has exited or was killed; throws after `timeoutMs`. */
  async ended(timeoutMs = READY_DEADLINE_MS): Promise<Ending> {
    const life = assertDefined(this.#life ?? undefined, `a started ${this.name}`);
    const late = delay(timeoutMs).then((): never => {
      throw new LocalError(`${this.name} still runs after ${timeoutMs / 1000} s`);
    });
    return Promise.race([life.ended, late]);
  }

  /** Stops the process if it runs, and starts it. `extra` replaces the earlier extra variables. */
  async restart(extra: Environment = {}): Promise<void> {
    await this.stop();
    await this.start(extra);
  }

  /** Stops the process with SIGTERM, and with SIGKILL after {@link STOP_DEADLINE_MS}. */
  async stop(): Promise<void> {
    this.#supervised = false;
    const life = this.#life;
    if (life === null) return;
    await endProcess(life.id, "SIGTERM", STOP_DEADLINE_MS);
    this.#forget(life);
  }

  /**
   * Waits until all services of the process are ready. Throws after `timeoutMs`, or if the process
   * ends while it is not supervised. Supervision begins when `start` has succeeded. The error has
   * the last lines of the log.
   */
  async ready(timeoutMs = READY_DEADLINE_MS): Promise<void> {
    const end = Date.now() + timeoutMs;
    let reason = "it does not answer";
    while (Date.now() < end) {
      const life = assertDefined(this.#life ?? undefined, `a started ${this.name}`);
      if (!this.#supervised && !isAlive(life.id)) throw this.#failure("ended before it was ready");
      const answers = await Promise.all(this.#options.urls.map(readiness));
      const notReady = answers.find((answer) => answer !== null);
      if (notReady === undefined) return;
      reason = notReady;
      await delay(READY_POLL_MS);
    }
    throw this.#failure(`is not ready after ${timeoutMs / 1000} s: ${reason}`, LATE_START_ADVICE);
  }

  async #spawnUntilReady(tries: number): Promise<void> {
    await this.#spawn();
    try {
      await this.ready();
    } catch (error) {
      if (tries <= 1 || this.pid !== null) throw error;
      await this.#spawnUntilReady(tries - 1);
    }
  }

  async #spawn(): Promise<void> {
    const { name, program, environment, record } = this.#options;
    const folder = programFolder(program);
    const { id, child } = await spawnProcess({
      command: process.execPath,
      args: [path.join(folder, "src", "main.ts")],
      cwd: folder,
      env: { ...environment, ...this.#extra },
      logFile: this.logFile,
    });
    const entry: Entry = { kind: "process", name, ...id, stopSignal: "SIGTERM" };
    record.add(entry);
    const life: Life = { id, entry, ended: endingOf(child), beganMs: Date.now() };
    this.#life = life;
    void life.ended.then((ending) => this.#died(life, ending));
  }

  async #died(life: Life, ending: Ending): Promise<void> {
    this.#forget(life);
    if (!this.#supervised || this.#life !== life) return;
    this.#endings.push(ending);
    const { report } = this.#options;
    this.#deaths = Date.now() - life.beganMs > STEADY_MS ? 1 : this.#deaths + 1;
    const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (this.#deaths - 1), LAST_RETRY_MS);
    const how = ending.signal ?? `exit code ${ending.code}`;
    report.note(`${this.name} ended (${how}); it is started again in ${waitMs / 1000} s. Its log: ${this.logFile}`);
    await delay(waitMs);
    // Meanwhile the process may have been stopped, or started again.
    if (!this.#supervised || this.#life !== life) return;
    await this.#spawn();
  }

  #forget(life: Life): void {
    this.#options.record.remove(life.entry);
  }

  #failure(what: string, advice = ""): LocalError {
    const end = `The last lines of ${this.logFile}:\n${lastLines(this.logFile, LOG_LINES)}`;
    return new LocalError(`${this.name} ${what}. ${advice}${end}`);
  }
}

function endingOf(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
}

/** Null if the service is ready, else the reason why the service is not ready. */
async function readiness(url: string): Promise<string | null> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READY_REQUEST_TIMEOUT_MS) });
    const text = await response.text();
    return response.ok ? null : text;
  } catch {
    return "it does not answer";
  }
}
