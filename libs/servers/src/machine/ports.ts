import net from "node:net";

import { LocalError } from "../local-error.ts";

/**
 * These ports are below the system's range for outgoing connections, so that no outgoing connection
 * can use a chosen port.
 */
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
const MAX_TRIES = 200;
/** Ports that this process has tried, so that no port is chosen twice. */
const given = new Set<number>();

/** Whether a server can listen on the port now. */
export function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * Returns `preferred` if it is free. Otherwise chooses a free port at random, but no port that this
 * process has already chosen at random.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isFree(preferred))) return preferred;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
  throw new LocalError(`No free port was found between ${FIRST_PORT} and ${LAST_PORT}.`);
}
