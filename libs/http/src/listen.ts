import type { AddressInfo, Socket } from "node:net";

import { assert } from "@kapi/kernel";
import type { Started } from "@kapi/runtime";
import type { FastifyInstance } from "fastify";

/**
 * Time after the stop began in which running requests may end, in milliseconds. Then their
 * connections are closed.
 */
export const DRAIN_TIMEOUT_MS = 8_000;
/** Time between two closings of idle connections after the stop began, in milliseconds. */
const IDLE_SWEEP_MS = 25;
/**
 * How long a connection that never sent a byte stays open after the stop began, in milliseconds.
 * Node does not count such a connection as idle. Browsers open connections in advance.
 */
const UNUSED_GRACE_MS = 1_000;

/** The address on which the server listens. */
export interface Listening {
  readonly url: string;
  readonly port: number;
}

/**
 * Starts to listen; port 0 selects a free port. `stop` turns readiness off, accepts no new
 * connections, lets running requests finish within `drainTimeoutMs`, and closes the remaining
 * connections. Connections without a request do not delay it for longer than a second.
 * @throws the system's error (such as EADDRINUSE) if the address cannot be used.
 */
export async function startListening(
  app: FastifyInstance,
  options: { host: string; port: number; drainTimeoutMs?: number },
): Promise<Started<Listening>> {
  const sockets = new Set<Socket>();
  app.server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await app.listen({ host: options.host, port: options.port });
  const address = app.server.address();
  assert(address !== null && typeof address === "object", "the server does not listen on a TCP port");
  const stop = (): Promise<void> => closeGracefully(app, sockets, options.drainTimeoutMs ?? DRAIN_TIMEOUT_MS);
  return { value: { url: urlOf(address), port: address.port }, stop };
}

async function closeGracefully(app: FastifyInstance, sockets: ReadonlySet<Socket>, limitMs: number): Promise<void> {
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  const unused = setTimeout(() => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }, UNUSED_GRACE_MS);
  const cut = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, limitMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(unused);
    clearTimeout(cut);
  }
}

function urlOf({ address, family, port }: AddressInfo): string {
  return family === "IPv6" ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}
