import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";

import { HEADERS } from "@kapi/contracts";
import { ApiError, arrivalLimits } from "@kapi/http";
import type { Started } from "@kapi/runtime";

/**
 * Maximum number of connections that wait to be accepted: after a restart all clients reconnect at
 * once. The kernel's limit may be lower.
 */
const LIVE_BACKLOG = 4_096;

/** Listens on a separate port for upgrades. Every other request is answered 404. */
export async function startUpgradeListener(host: string, port: number): Promise<Started<Server>> {
  const server = createServer(arrivalLimits(), (_request, response) => {
    const error = new ApiError("NOT_FOUND");
    const requestId = randomUUID();
    const headers = {
      "content-type": "application/json; charset=utf-8",
      [HEADERS.errorCode]: error.code,
      [HEADERS.requestId]: requestId,
    };
    response.writeHead(error.status, headers).end(JSON.stringify(error.body(requestId)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, backlog: LIVE_BACKLOG }, resolve);
  });
  const stop = (): Promise<void> =>
    new Promise((resolve, reject) => {
      server.close((error) => (error === undefined ? resolve() : reject(error)));
      server.closeAllConnections();
    });
  return { value: server, stop };
}
