import { mkdirSync, rmdirSync, rmSync } from "node:fs";
import path from "node:path";

import {
  askRedis,
  endProcess,
  LocalError,
  type NativeServer,
  redis,
  type RunningServer,
  type ServerContext,
  startRedisProcess,
} from "@kapi/servers";

import { eventually } from "./eventually.ts";

const NAME = "redis";
const CRASH_DEADLINE_MS = 5_000;
/** The file name of Redis' snapshot. */
const SNAPSHOT = "dump.rdb";

/** A Redis of one test file. The test may crash it, and make its snapshots fail. */
export interface TestRedis {
  readonly url: string;
  /** Kills Redis with SIGKILL. The append-only file keeps every write that Redis has answered. */
  crash(): Promise<void>;
  /**
   * Kills Redis with SIGKILL, and starts it on the same port. `wipe` deletes the data before the
   * start, as on a new machine.
   */
  restart(options?: { wipe?: boolean }): Promise<void>;
  /** Makes Redis refuse every write with MISCONF, because it cannot store its snapshot. */
  refuseWrites(): Promise<void>;
  /** Makes Redis accept writes again. */
  takeWrites(): Promise<void>;
}

/**
 * Starts a redis-server process. If this machine has no redis-server, starts a container, which
 * can neither be crashed nor made to refuse writes.
 */
export async function startTestRedis(context: ServerContext): Promise<{ value: TestRedis; stop(): Promise<void> }> {
  let server: NativeServer;
  try {
    server = await startRedisProcess(context, { name: NAME });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return fromContainer(await redis.container(context));
  }
  const folder = path.join(context.stateDir, NAME);
  const snapshot = path.join(folder, SNAPSHOT);
  const ask = (command: string): Promise<string> => askRedis(server.address, command);
  const crash = (): Promise<void> => endProcess(server.id, "SIGKILL", CRASH_DEADLINE_MS);
  const value: TestRedis = {
    url: server.address,
    crash,
    restart: async ({ wipe = false } = {}) => {
      await crash();
      await server.stop();
      if (wipe) rmSync(folder, { recursive: true, force: true });
      server = await startRedisProcess(context, { name: NAME, port: Number(new URL(server.address).port) });
    },
    refuseWrites: async () => {
      // Redis cannot replace a folder with its snapshot file.
      mkdirSync(snapshot);
      await ask('CONFIG SET save "3600 1"');
      await ask("BGSAVE");
      await eventually(async () => /rdb_last_bgsave_status:err/.test(await ask("INFO persistence")));
    },
    takeWrites: async () => {
      rmdirSync(snapshot);
      await ask('CONFIG SET save ""');
    },
  };
  return { value, stop: () => server.stop() };
}

function fromContainer(server: RunningServer): { value: TestRedis; stop(): Promise<void> } {
  const impossible = (): Promise<never> =>
    Promise.reject(
      new LocalError("A test that crashes Redis or makes it refuse writes needs redis-server on the PATH."),
    );
  const value = { crash: impossible, restart: impossible, refuseWrites: impossible, takeWrites: impossible };
  return { value: { url: server.address, ...value }, stop: () => server.stop() };
}
