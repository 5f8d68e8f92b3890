import { Readable } from "node:stream";

import { Guid, ListCommandsQuery } from "@kapi/contracts";
import {
  ApiError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  parse,
  sendStream,
  tooManyConcurrentRequests,
} from "@kapi/http";
import type { Clock } from "@kapi/kernel";
import { z } from "zod";

import type { CommandListQuery } from "../../domain/command-list.ts";
import type { CommandEnds, CommandLists, CommandStore } from "../../domain/ports.ts";
import { listCommands, streamCommands } from "../../operations/list-commands.ts";
import { type CommandWaiters, TooManyWaiters, waitForCommand } from "../../operations/wait-for-command.ts";

/** Longest wait of one request, in milliseconds (decisions, 3.7). */
const MAX_WAIT_MS = 30_000;
const CONTENT_TOO_LARGE = 413;

const ServerPath = z.object({ serverId: Guid });
const ListQuery = ListCommandsQuery.extend({ organizationId: Guid });
const WaitBody = z.object({
  organizationId: Guid,
  commandId: Guid,
  timeoutMs: z.int().min(0).max(MAX_WAIT_MS),
});

export interface ListRouteNeeds {
  readonly store: CommandStore;
  readonly lists: CommandLists;
  readonly ends: CommandEnds;
  readonly waiters: CommandWaiters;
  readonly clock: Clock;
}

/** The list of a server's commands, and the read of one that waits for its end. */
export function registerListRoutes(app: FastifyInstance, needs: ListRouteNeeds): void {
  app.get("/internal/servers/:serverId/commands", async (request, reply) => {
    const body = await listCommands(needs.lists, queryOf(request));
    if (body === null) return reply.code(CONTENT_TOO_LARGE).send({ error: "Only as a stream" });
    return reply.header("content-type", "application/json").send(body);
  });
  app.get("/internal/servers/:serverId/commands/stream", async (request, reply) => {
    const pieces = await streamCommands(needs.lists, queryOf(request));
    void reply.header("content-type", "application/json");
    return sendStream(reply, Readable.from(pieces, { objectMode: false }));
  });
  app.post("/internal/commands/wait", async (request, reply) => {
    const { timeoutMs, ...read } = parse(WaitBody, request.body);
    const body = await waiting(() => waitForCommand(needs, read, timeoutMs, goneSignal(reply)));
    if (body === null) throw new ApiError("COMMAND_NOT_FOUND");
    return reply.header("content-type", "application/json").send(body);
  });
}

function queryOf(request: FastifyRequest): CommandListQuery {
  return { ...parse(ListQuery, request.query), ...parse(ServerPath, request.params) };
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
 * Aborted when the caller's connection has closed: nobody waits for the answer any more. Also when the answer was sent, so that
 * nothing is left on a connection that carries many waits.
 */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  if (reply.raw.destroyed) gone.abort();
  return gone.signal;
}
