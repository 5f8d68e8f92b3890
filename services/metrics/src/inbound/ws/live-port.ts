import { createServer, type Server } from "node:http";

import { HEADERS } from "@kapi/contracts";
import { answerBrokenHttp, ApiError, arrivalLimits } from "@kapi/http";
import { systemClock, uuidV7 } from "@kapi/kernel";
import type { Started } from "@kapi/runtime";

import { requestIdOf } from "./handshake.ts";

/**
 * Maximum number of connections that wait to be accepted: after a restart all clients reconnect at
 * once. The kernel's limit may be lower.
 */
const LIVE_BACKLOG = 4_096;

/** Listens on a separate port for upgrades. Other requests are answered 404, malformed ones 400. */
export async function startUpgradeListener(host: string, port: number): Promise<Started<Server>> {
  const server = createServer(arrivalLimits(), (request, response) => {
    const error = new ApiError("NOT_FOUND");
    const requestId = requestIdOf(request, systemClock);
    const body = JSON.stringify(error.body(requestId));
    const headers = {
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(body),
      [HEADERS.errorCode]: error.code,
      [HEADERS.requestId]: requestId,
      [HEADERS.creditsCharged]: "0",
    };
    response.writeHead(error.status, headers).end(body);
  });
  server.on("clientError", (error, socket) => {
    answerBrokenHttp(error, socket, uuidV7(systemClock.nowMs()));
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
