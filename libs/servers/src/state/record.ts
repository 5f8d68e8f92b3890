import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { z } from "zod";

import { LocalError } from "../local-error.ts";
import { removeContainer } from "../machine/container-runtime.ts";
import { type CommandOptions, runOrThrow } from "../machine/command.ts";
import { endProcess, isAlive, type ProcessId, signalProcess, startTimeOf } from "../machine/processes.ts";

const STATE_FILE = "state.json";
const ENTRY_DEADLINE_MS = 15_000;
const OWNER_DEADLINE_MS = 60_000;

const ProcessEntry = z.object({
  kind: z.literal("process"),
  name: z.string(),
  pid: z.int().positive(),
  startedAt: z.string(),
  stopSignal: z.enum(["SIGTERM", "SIGINT"]),
});
const ContainerEntry = z.object({ kind: z.literal("container"), name: z.string(), id: z.string() });
const Entry = z.discriminatedUnion("kind", [ProcessEntry, ContainerEntry]);
const State = z.object({ owner: z.object({ pid: z.int(), startedAt: z.string() }), started: z.array(Entry) });

export type Entry = z.infer<typeof Entry>;
type State = z.infer<typeof State>;

/**
 * Lists in `state.json` each process of one run with its start time, and each container with its
 * id, as soon as it is started. After a killed run, the next run or `npm stop` ends exactly the
 * listed processes and containers. Nothing is ever ended by name.
 */
export class StateRecord {
  readonly #file: string;
  #state: State;
  #closed = false;

  private constructor(file: string, state: State) {
    this.#file = file;
    this.#state = state;
  }

  /**
   * Opens the state folder, and ends the remaining processes and containers of a killed run. Throws
   * if a live run uses the folder.
   */
  static async open(stateDir: string): Promise<StateRecord> {
    mkdirSync(stateDir, { recursive: true });
    const file = path.join(stateDir, STATE_FILE);
    const previous = readState(file);
    if (previous !== null && isAlive(previous.owner)) {
      throw new LocalError(
        `kapi already runs with the state folder ${stateDir} (process ${previous.owner.pid}). ` +
          "Stop it with Ctrl-C in its terminal, or with npm stop.",
      );
    }
    const owner = { pid: process.pid, startedAt: startTimeOf(process.pid) ?? "unknown" };
    const started = previous?.started ?? [];
    const record = new StateRecord(file, { owner, started });
    // Written before the first wait, so that a second run that starts meanwhile fails.
    record.#write();
    await endAll(started);
    record.#state = { owner, started: [] };
    record.#write();
    return record;
  }

  /**
   * Adds a started process or container. After `close`, `add` ends the entry instead and throws:
   * the start of a server possibly still runs when the record is closed.
   */
  add(entry: Entry): void {
    if (this.#closed) {
      if (entry.kind === "process") signalProcess(entry, "SIGKILL");
      else void removeContainer(entry.id);
      throw new LocalError(`${entry.name} was not started: everything is being stopped`);
    }
    this.#state = { ...this.#state, started: [...this.#state.started, entry] };
    this.#write();
  }

  /** Removes an entry whose process or container has ended. */
  remove(entry: Entry): void {
    this.#state = { ...this.#state, started: this.#state.started.filter((other) => other !== entry) };
    this.#write();
  }

  /**
   * Runs a command that writes data, and waits until it has ended. The process of the command is
   * listed meanwhile, so that `close` ends the command too. Throws if the command fails.
   */
  async run(name: string, command: string, args: readonly string[], options: CommandOptions): Promise<void> {
    const listed: Entry[] = [];
    const started = (id: ProcessId): void => {
      const entry = { kind: "process", name, ...id, stopSignal: "SIGTERM" } as const;
      this.add(entry);
      listed.push(entry);
    };
    try {
      await runOrThrow(command, args, { ...options, started });
    } finally {
      for (const entry of listed) this.remove(entry);
    }
  }

  /** Ends all listed processes and containers, and releases the folder. */
  async close(): Promise<void> {
    this.#closed = true;
    await endAll(this.#state.started);
    rmSync(this.#file, { force: true });
  }

  #write(): void {
    if (this.#closed) return;
    const fresh = `${this.#file}.new`;
    writeFileSync(fresh, `${JSON.stringify(this.#state, null, 2)}\n`);
    renameSync(fresh, this.#file);
  }
}

/**
 * Stops the live run of `stateDir`, unless it is this process, and ends all listed processes and
 * containers. Returns whether there was a record.
 */
export async function stopRecorded(stateDir: string): Promise<boolean> {
  const file = path.join(stateDir, STATE_FILE);
  const state = readState(file);
  if (state === null) return false;
  if (state.owner.pid !== process.pid) await endProcess(state.owner, "SIGTERM", OWNER_DEADLINE_MS);
  const left = readState(file);
  // Meanwhile another run may have started in this folder.
  if (left?.owner.pid !== state.owner.pid || left.owner.startedAt !== state.owner.startedAt) return true;
  await endAll(left.started);
  rmSync(file, { force: true });
  return true;
}

/** The ids of the listed processes of `stateDir`, by name. Containers are left out. */
export function recordedPids(stateDir: string): Map<string, number> {
  const { started } = readState(path.join(stateDir, STATE_FILE)) ?? { started: [] };
  return new Map(started.flatMap((entry) => (entry.kind === "process" ? [[entry.name, entry.pid]] : [])));
}

/** Whether a live run uses `stateDir`. */
export function isRunning(stateDir: string): boolean {
  const state = readState(path.join(stateDir, STATE_FILE));
  return state !== null && isAlive(state.owner);
}

/** Ends entries in the reverse order of their start. */
async function endAll(entries: readonly Entry[]): Promise<void> {
  for (const entry of entries.toReversed()) {
    if (entry.kind === "process") await endProcess(entry, entry.stopSignal, ENTRY_DEADLINE_MS);
    else await removeContainer(entry.id);
  }
}

function readState(file: string): State | null {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return null;
  }
  const state = State.safeParse(JSON.parse(text));
  if (!state.success) throw new LocalError(`${file} is not a state record of kapi; check its content, then delete it.`);
  return state.data;
}
