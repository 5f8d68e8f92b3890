import { rmSync } from "node:fs";
import path from "node:path";

import {
  endProcess,
  LocalError,
  type NativeServer,
  redis,
  type RunningServer,
  type ServerContext,
  startRedisProcess,
} from "@kapi/servers";

const NAME = "redis";
const CRASH_DEADLINE_MS = 5_000;

/** A Redis of one test file's own, which it may crash. */
export interface TestRedis {
  readonly url: string;
  /** Ends it with SIGKILL; what it had written in the last second may be lost. */
  crash(): Promise<void>;
  /** Starts it again on the same port; with `wipe` without its data, as on a new machine. */
  restart(options?: { wipe?: boolean }): Promise<void>;
}

/** Starts a redis-server process; where this machine cannot have one, a container, which cannot be crashed. */
export async function startTestRedis(context: ServerContext): Promise<{ value: TestRedis; stop(): Promise<void> }> {
  let server: NativeServer;
  try {
    server = await startRedisProcess(context, { name: NAME });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return fromContainer(await redis.container(context));
  }
  const crash = (): Promise<void> => endProcess(server.id, "SIGKILL", CRASH_DEADLINE_MS);
  const value: TestRedis = {
    url: server.address,
    crash,
    restart: async ({ wipe = false } = {}) => {
      await crash();
      await server.stop();
      if (wipe) rmSync(path.join(context.stateDir, NAME), { recursive: true, force: true });
      server = await startRedisProcess(context, { name: NAME, port: Number(new URL(server.address).port) });
    },
  };
  return { value, stop: () => server.stop() };
}

function fromContainer(server: RunningServer): { value: TestRedis; stop(): Promise<void> } {
  const impossible = (): Promise<never> =>
    Promise.reject(new LocalError("A test that crashes Redis needs redis-server on the PATH."));
  return { value: { url: server.address, crash: impossible, restart: impossible }, stop: () => server.stop() };
}
