import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { z } from "zod";

import { LocalError } from "../local-error.ts";
import { removeContainer } from "../machine/container-runtime.ts";
import { endProcess, isAlive, signalProcess, startTimeOf } from "../machine/processes.ts";

const STATE_FILE = "state.json";
const STALE_DEADLINE_MS = 15_000;
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
 * What one run has started on this machine: each process with its start time and each container
 * with its id, written to `state.json` before anything else is done with it. So a run that was
 * killed leaves a list by which the next one, or `npm stop`, ends exactly what is left of it, and
 * never something by its name.
 */
export class StateRecord {
  readonly #file: string;
  #state: State;
  #closed = false;

  private constructor(file: string, state: State) {
    this.#file = file;
    this.#state = state;
  }

  /** Takes the state folder over, ending what a dead run left. Throws where a living run has it. */
  static async open(stateDir: string): Promise<StateRecord> {
    mkdirSync(stateDir, { recursive: true });
    const file = path.join(stateDir, STATE_FILE);
    const previous = readState(file);
    if (previous !== null) {
      if (isAlive(previous.owner)) {
        throw new LocalError(
          `kapi already runs here (process ${previous.owner.pid}); stop it with Ctrl-C there, or with npm stop.`,
        );
      }
      await endAll(previous.started);
    }
    const owner = { pid: process.pid, startedAt: startTimeOf(process.pid) ?? "unknown" };
    const record = new StateRecord(file, { owner, started: [] });
    record.#write();
    return record;
  }

  /**
   * Lists what was just started. After `close` it is ended instead: a start that is given up may
   * still be at work.
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

  /** Forgets an entry whose process or container is gone. */
  remove(entry: Entry): void {
    this.#state = { ...this.#state, started: this.#state.started.filter((other) => other !== entry) };
    this.#write();
  }

  /** Ends what is still listed and gives the folder free. */
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
 * Stops the run that has `stateDir`, if one does, and then whatever it or a dead run left. Says
 * whether there was anything.
 */
export async function stopRecorded(stateDir: string): Promise<boolean> {
  const file = path.join(stateDir, STATE_FILE);
  const state = readState(file);
  if (state === null) return false;
  if (state.owner.pid !== process.pid) await endProcess(state.owner, "SIGTERM", OWNER_DEADLINE_MS);
  await endAll((readState(file) ?? { started: [] }).started);
  rmSync(file, { force: true });
  return true;
}

/** Whether the run that has `stateDir` still lives. */
export function isRunning(stateDir: string): boolean {
  const state = readState(path.join(stateDir, STATE_FILE));
  return state !== null && isAlive(state.owner);
}

/** Ends entries, the last started first. */
async function endAll(entries: readonly Entry[]): Promise<void> {
  for (const entry of entries.toReversed()) {
    if (entry.kind === "process") await endProcess(entry, entry.stopSignal, STALE_DEADLINE_MS);
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
  if (!state.success) throw new LocalError(`${file} is not what kapi wrote; look at it, then delete it.`);
  return state.data;
}
