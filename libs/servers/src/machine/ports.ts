import net from "node:net";

import { LocalError } from "../local-error.ts";

/**
 * These ports are below the system's range for outgoing connections, so that no outgoing connection
 * can use a chosen port.
 */
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
/**
 * A process chooses its ports from blocks of this size. It listens on the first port of a block for
 * as long as it lives, so that no other process chooses from the block: the server of a chosen port
 * may start seconds later, or start again.
 */
const BLOCK_PORTS = 100;
const MAX_TRIES = 200;

/** Ports of this process's blocks that it has not tried yet. */
let untried: number[] = [];
let claiming: Promise<void> | null = null;

/** Whether a server can listen on the port now. */
export async function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  const server = await listen(port, host);
  if (server === null) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

/**
 * Returns `preferred` if it is free. Otherwise chooses a free port that this function has not
 * chosen in this process or in another one that still runs.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isFree(preferred))) return preferred;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = untried.shift();
    if (port === undefined) await (claiming ??= claimBlock().finally(() => (claiming = null)));
    else if (await isFree(port)) return port;
  }
  throw new LocalError(`No free port was found between ${FIRST_PORT} and ${LAST_PORT}.`);
}

/**
 * Returns `kept`, the port of `owner` at its last start; a free port at its first start. Throws if
 * the kept port is in use.
 */
export async function keptOrFreePort(kept: number | undefined, owner: string): Promise<number> {
  if (kept === undefined) return freePort();
  if (await isFree(kept)) return kept;
  throw new LocalError(
    `Port ${kept} is in use. The data of ${owner} names this port: end the program that uses the port.`,
  );
}

/** Tries to claim a block at random. It stays claimed until the process ends. */
async function claimBlock(): Promise<void> {
  const blocks = (LAST_PORT - FIRST_PORT) / BLOCK_PORTS;
  const first = FIRST_PORT + Math.floor(Math.random() * blocks) * BLOCK_PORTS;
  const claim = await listen(first, "127.0.0.1");
  if (claim === null) return;
  claim.unref();
  untried = Array.from({ length: BLOCK_PORTS - 1 }, (_, index) => first + 1 + index);
}

/** A server on the port; null if the port is in use. */
function listen(port: number, host: string): Promise<net.Server | null> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once("error", () => resolve(null));
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });
}
