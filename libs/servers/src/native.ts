import path from "node:path";

import { endProcess, type ProcessId, spawnProcess, type SpawnOptions } from "./machine/processes.ts";
import type { RunningServer, ServerContext, ServerKind } from "./server.ts";
import { processAnswers } from "./ways.ts";

/** A broker needs 10 s of CPU time to start, and much longer on a busy machine. */
const START_DEADLINE_MS = 180_000;
const STOP_DEADLINE_MS = 15_000;

/** The program of one server and its settings, to run as a process of this machine. */
interface NativePlan extends Omit<SpawnOptions, "logFile"> {
  /** In the format of the server's environment variable. */
  readonly address: string;
  /** The signal for a fast, clean shutdown. */
  readonly stopSignal: "SIGTERM" | "SIGINT";
}

/** A native server and its process. */
export interface NativeServer extends RunningServer {
  readonly id: ProcessId;
}

/** Starts a process, records its id, and waits until the server answers. */
export async function startNative(
  kind: ServerKind,
  context: ServerContext,
  plan: NativePlan,
  name: string = kind.name,
): Promise<NativeServer> {
  const logFile = path.join(context.stateDir, "logs", `${name}.log`);
  const { address, stopSignal, ...spawn } = plan;
  const { id } = await spawnProcess({ ...spawn, logFile });
  const entry = { kind: "process", name, ...id, stopSignal } as const;
  context.record.add(entry);
  const stop = async (): Promise<void> => {
    await endProcess(id, stopSignal, STOP_DEADLINE_MS);
    context.record.remove(entry);
  };
  try {
    await processAnswers(kind, address, { id, logFile, deadlineMs: START_DEADLINE_MS });
  } catch (error) {
    await stop();
    throw error;
  }
  return { name: kind.name, way: "native", address, id, stop };
}
