import { Readable } from "node:stream";

import { COMMAND_STATUS_ROUTES } from "@kapi/contracts";
import {
  ApiError,
  type FastifyInstance,
  type FastifyReply,
  sendStream,
  serveRaw,
  tooManyConcurrentRequests,
} from "@kapi/http";
import type { Clock } from "@kapi/kernel";

import type { CommandEnds, CommandLists, CommandStore } from "../../domain/ports.ts";
import { listCommands, streamCommands } from "../../operations/list-commands.ts";
import { type CommandWaiters, TooManyWaiters, waitForCommand } from "../../operations/wait-for-command.ts";

const CONTENT_TOO_LARGE = 413;

export interface ListRouteNeeds {
  readonly store: CommandStore;
  readonly lists: CommandLists;
  readonly ends: CommandEnds;
  readonly waiters: CommandWaiters;
  readonly clock: Clock;
}

/** The list of a server's commands, and the read of one that waits for its end. */
export function registerListRoutes(app: FastifyInstance, needs: ListRouteNeeds): void {
  serveRaw(app, COMMAND_STATUS_ROUTES.listCommands, async ({ params, query }, _request, reply) => {
    const body = await listCommands(needs.lists, { ...query, ...params });
    if (body === null) return reply.code(CONTENT_TOO_LARGE).send({ error: "Only as a stream" });
    return reply.header("content-type", "application/json").send(body);
  });
  serveRaw(app, COMMAND_STATUS_ROUTES.streamCommands, async ({ params, query }, _request, reply) => {
    const pieces = await streamCommands(needs.lists, { ...query, ...params });
    void reply.header("content-type", "application/json");
    return sendStream(reply, Readable.from(pieces, { objectMode: false }));
  });
  serveRaw(app, COMMAND_STATUS_ROUTES.waitForCommand, async ({ body: { timeoutMs, ...read } }, _request, reply) => {
    const body = await waiting(() => waitForCommand(needs, read, timeoutMs, goneSignal(reply)));
    if (body === null) throw new ApiError("COMMAND_NOT_FOUND");
    return reply.header("content-type", "application/json").send(body);
  });
}

async function waiting<T>(wait: () => Promise<T>): Promise<T> {
  try {
    return await wait();
  } catch (error) {
    if (!(error instanceof TooManyWaiters)) throw error;
    throw tooManyConcurrentRequests(error);
  }
}

/**
 * Aborted when the caller's connection has closed: nobody waits for the answer any more. Also when
 * the answer was sent, so that nothing is left on a connection that carries many waits.
 */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  if (reply.raw.destroyed) gone.abort();
  return gone.signal;
}
