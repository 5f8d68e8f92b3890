import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { delay } from "@kapi/kernel";
import { freePort } from "@kapi/servers";

const MAIN = path.resolve(import.meta.dirname, "../../services/metrics/src/main.ts");
const READY_TIMEOUT_MS = 120_000;
const READY_POLL_MS = 50;
const REQUEST_TIMEOUT_MS = 10_000;
const KIB = 1_024;

/** The load of a stream process, as GET /internal/live/load returns it. */
export interface LiveLoad {
  readonly sockets: number;
  /** Sockets that get nothing until their unsent bytes have drained. */
  readonly stalled: number;
  /** Unsent bytes of all sockets. */
  readonly bufferedBytes: number;
  /** Unsent bytes of the socket that has the most. */
  readonly mostBufferedBytes: number;
}

type Environment = Readonly<Record<string, string>>;

/** The metrics processes of a trial, by name. A process keeps its port and role after a restart. */
export class Fleet {
  readonly #env: Environment;
  readonly #members = new Map<string, FleetMember>();

  /** `env` is the environment of every metrics process, without its port and role. */
  constructor(env: Environment) {
    this.#env = env;
  }

  /** Starts a new member and waits until it is ready. `port`: by default a free one. */
  async add(name: string, roles: string, env: Environment = {}, port?: number): Promise<FleetMember> {
    const member = await this.prepare(name, roles, env, port);
    await member.start();
    return member;
  }

  /** Adds a member without starting it. */
  async prepare(name: string, roles: string, env: Environment = {}, givenPort?: number): Promise<FleetMember> {
    const port = givenPort ?? (await freePort());
    const member = new FleetMember(name, port, { ...this.#env, ...env, HTTP_PORT: String(port), ROLES: roles });
    this.#members.set(name, member);
    return member;
  }

  member(name: string): FleetMember {
    const member = this.#members.get(name);
    if (member === undefined) throw new RangeError(`the fleet has no process ${name}`);
    return member;
  }

  /** Stops every member gracefully. */
  async stop(): Promise<void> {
    const members = [...this.#members.values()];
    for (const member of members) member.signal("SIGCONT");
    await Promise.all(members.map((member) => member.end("SIGTERM")));
  }
}

/** One metrics process that can be killed, paused and restarted. */
export class FleetMember {
  readonly name: string;
  readonly url: string;
  readonly wsUrl: string;
  #env: Environment;
  #child: ChildProcess | null = null;

  constructor(name: string, port: number, env: Environment) {
    this.name = name;
    this.url = `http://127.0.0.1:${port}`;
    this.wsUrl = `ws://127.0.0.1:${port}`;
    this.#env = env;
  }

  /** Sets variables of the process. They apply from its next start on. */
  change(env: Environment): void {
    this.#env = { ...this.#env, ...env };
  }

  /** Starts the process with its own variables and `env`, and waits until it is ready. */
  async start(env: Environment = {}): Promise<void> {
    const child = spawn(process.execPath, [MAIN], {
      env: { ...process.env, ...this.#env, ...env },
      stdio: ["ignore", "inherit", "inherit"],
    });
    this.#child = child;
    // Never leave the child running after this process.
    const kill = (): void => void child.kill("SIGKILL");
    process.once("exit", kill);
    child.once("exit", () => process.off("exit", kill));
    const endMs = Date.now() + READY_TIMEOUT_MS;
    while (!(await this.#isReady())) {
      const end = child.exitCode ?? child.signalCode;
      if (end !== null) throw new Error(`${this.name} ended with ${end} before it was ready`);
      if (Date.now() > endMs) throw new Error(`${this.name} is not ready after ${READY_TIMEOUT_MS} ms`);
      await delay(READY_POLL_MS);
    }
  }

  /** Sends the signal without waiting, for example SIGSTOP or SIGCONT. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Sends the signal and waits for the exit of the process. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill(signal);
    await gone;
  }

  /** Returns the current load; throws if the process does not return it. */
  async load(): Promise<LiveLoad> {
    const answer = await fetch(`${this.url}/internal/live/load`, {
      headers: { "x-service-token": this.#env["OPERATOR_TOKEN"] ?? "" },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`${this.name} returned no load: ${answer.status}`);
    return (await answer.json()) as LiveLoad;
  }

  /** Resident memory in bytes. Null on other systems than Linux, or if the process has ended. */
  residentBytes(): number | null {
    const file = `/proc/${this.#child?.pid}/status`;
    const kib = existsSync(file) ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(file, "utf8"))?.[1] : undefined;
    return kib === undefined ? null : Number(kib) * KIB;
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })).ok;
    } catch {
      return false;
    }
  }
}
