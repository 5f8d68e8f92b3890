import net from "node:net";

import { LocalError } from "../local-error.ts";

/**
 * Below the range from which the system takes ports for outgoing connections, so that none of those
 * can be in the way later.
 */
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
const MAX_TRIES = 200;
/** Ports that this process was given: their servers may not listen yet. */
const given = new Set<number>();

/** Whether something can listen there now. */
export function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * A port that nothing listens on, and that no earlier call gave. `preferred` is taken where it is
 * free.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isFree(preferred))) return preferred;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new LocalError(`No free port was found between ${FIRST_PORT} and ${LAST_PORT}.`);
}
