import { existsSync, mkdirSync, readdirSync } from "node:fs";
import net from "node:net";
import path from "node:path";

import { LocalError } from "./local-error.ts";
import { cached, cacheFolder } from "./machine/cache.ts";
import { findCommand } from "./machine/command.ts";
import { freePort } from "./machine/ports.ts";
import { startContainer } from "./containers.ts";
import { type NativeServer, startNative } from "./native.ts";
import type { ServerContext, ServerKind } from "./server.ts";

const IMAGE = "redis:8";
const PORT = 6379;
const PROBE_TIMEOUT_MS = 1_000;
const ANSWER_TIMEOUT_MS = 5_000;
/**
 * Every write reaches the disk within a second; there are no snapshots. The AOF is rewritten when
 * its size has doubled, but not below 256 MB: a rewrite copies all data and slows down the services
 * on the same machine.
 */
const DURABILITY = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
const SETTINGS = [...DURABILITY, "--auto-aof-rewrite-min-size", "256mb"];
/**
 * Settings of an ephemeral server: its data need not survive a crash of the machine, and a slow
 * disk does not stall it.
 */
const EPHEMERAL_SETTINGS = [...SETTINGS, "--appendfsync", "no"];

export const redis: ServerKind = {
  name: "redis",
  title: "Redis",
  variable: "REDIS_URL",
  answers,
  container: (context) =>
    startContainer(redis, context, {
      image: IMAGE,
      port: PORT,
      environment: {},
      command: ["redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", ...settingsOf(context)],
      dataFolder: "/data",
      address: (host, port) => `redis://${host}:${port}`,
    }),
  native: (context) => startRedisProcess(context),
};

function settingsOf({ ephemeral }: ServerContext): readonly string[] {
  return ephemeral ? EPHEMERAL_SETTINGS : SETTINGS;
}

/**
 * Starts a redis-server process. Each `name` has its own data folder, so that several processes can
 * run at the same time. `settings` are further arguments; they override the default settings.
 */
export async function startRedisProcess(
  context: ServerContext,
  options: { readonly name?: string; readonly port?: number; readonly settings?: readonly string[] } = {},
): Promise<NativeServer> {
  const { name = "redis", settings: further = [] } = options;
  const binary = await redisBinary(context);
  const port = options.port ?? (await freePort());
  const folder = path.join(context.stateDir, name);
  mkdirSync(folder, { recursive: true });
  const settings = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, ...settingsOf(context), ...further];
  return startNative(
    redis,
    context,
    {
      command: binary.command,
      args: [...settings, "--daemonize", "no"],
      env: { ...process.env, ...binary.env },
      address: `redis://127.0.0.1:${port}`,
      stopSignal: "SIGTERM",
    },
    name,
  );
}

interface Binary {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The redis-server of this machine, else Debian's. Debian's package is unpacked into the cache, not
 * installed, so no system service starts.
 */
async function redisBinary(context: ServerContext): Promise<Binary> {
  const installed = findCommand("redis-server");
  if (installed !== null) return { command: installed, env: {} };
  const cache = cacheFolder(context.env);
  if (!existsSync(path.join(cache, "redis"))) {
    if (!context.packages.available) {
      throw new LocalError(
        "redis-server is not on the PATH and cannot be fetched here: install it, use a Docker engine, or set REDIS_URL.",
      );
    }
    context.report.note("Redis: fetching Debian's redis-server (once; later starts use the cached copy)");
  }
  const folder = await cached(cache, "redis", (filling) =>
    context.packages.unpack(["redis-server", "redis-tools"], filling),
  );
  const libraries = path.join(folder, "usr/lib");
  const libraryFolders = existsSync(libraries)
    ? readdirSync(libraries, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    : [];
  return {
    command: path.join(folder, "usr/bin/redis-server"),
    env: { LD_LIBRARY_PATH: libraryFolders.map((entry) => path.join(libraries, entry.name)).join(":") },
  };
}

/**
 * Whether Redis answers PING with PONG or asks for a password. A server that still loads its data
 * answers with another error and is not ready.
 */
function answers(address: string): Promise<boolean> {
  const url = new URL(address);
  return new Promise((resolve) => {
    const socket = net.connect({ host: url.hostname, port: Number(url.port === "" ? PORT : url.port) });
    const finish = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => finish(false));
    socket.once("connect", () => socket.write("PING\r\n"));
    socket.once("data", (data) => finish(/^(\+PONG|-NOAUTH|-WRONGPASS)/.test(data.toString("utf8"))));
    socket.once("error", () => finish(false));
    socket.once("close", () => finish(false));
  });
}

/** Sends an inline command and QUIT to the Redis at `url`; returns both replies as raw text. */
export function askRedis(url: string, command: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    let reply = "";
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error(`no answer to ${command}`)));
    socket.once("connect", () => socket.write(`${command}\r\nQUIT\r\n`));
    socket.on("data", (data) => (reply += data.toString("utf8")));
    socket.once("error", reject);
    socket.once("close", () => resolve(reply));
  });
}
