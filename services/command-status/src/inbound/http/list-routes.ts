import { Guid, ListCommandsQuery } from "@kapi/contracts";
import { ApiError, type FastifyInstance, type FastifyReply, parse } from "@kapi/http";
import type { Clock } from "@kapi/kernel";
import { z } from "zod";

import type { CommandEnds, CommandLists, CommandStore } from "../../domain/ports.ts";
import { listCommands } from "../../operations/list-commands.ts";
import { type CommandWaiters, TooManyWaiters, waitForCommand } from "../../operations/wait-for-command.ts";

/** Longest wait of one request, in milliseconds (decisions, 3.7). */
const MAX_WAIT_MS = 30_000;
const SERVICE_UNAVAILABLE = 503;

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
    const { serverId } = parse(ServerPath, request.params);
    const query = parse(ListQuery, request.query);
    return reply
      .header("content-type", "application/json")
      .send(await listCommands(needs.lists, { ...query, serverId }));
  });
  app.post("/internal/commands/wait", async (request, reply) => {
    const { timeoutMs, ...read } = parse(WaitBody, request.body);
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
    throw new ApiError("DEPENDENCY_UNAVAILABLE", { status: SERVICE_UNAVAILABLE, cause: error });
  }
}

/**
 * Aborted when the caller's connection has closed: nobody waits for the answer any more. Also when the answer was sent, so that
 * nothing is left on a connection that carries many waits.
 */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  return gone.signal;
}
