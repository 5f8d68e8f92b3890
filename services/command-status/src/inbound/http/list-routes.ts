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

import { PREFIX_MATCHES } from "../../domain/command-list.ts";
import {
  type CommandLists,
  type CommandRepository,
  type FinalCommandRepository,
  TooManyMatches,
} from "../../domain/ports.ts";
import { listCommands, streamCommands } from "../../operations/list-commands.ts";
import { type CommandWaiters, TooManyWaiters, waitForCommand } from "../../operations/wait-for-command.ts";

const CONTENT_TOO_LARGE = 413;

interface ListRouteDependencies {
  readonly repository: CommandRepository;
  readonly lists: CommandLists;
  readonly finalCommands: FinalCommandRepository;
  readonly waiters: CommandWaiters;
  readonly clock: Clock;
}

/** Registers the list of a server's commands, and the read that waits for a final state. */
export function registerListRoutes(app: FastifyInstance, dependencies: ListRouteDependencies): void {
  serveRaw(app, COMMAND_STATUS_ROUTES.listCommands, async ({ params, query }, _request, reply) => {
    const body = await listCommands(dependencies.lists, { ...query, ...params }).catch(refusedPrefix);
    if (body === null)
      return reply.code(CONTENT_TOO_LARGE).send({ error: "The page is too large for one body: use streamCommands" });
    return reply.header("content-type", "application/json").send(body);
  });
  serveRaw(app, COMMAND_STATUS_ROUTES.streamCommands, async ({ params, query }, _request, reply) => {
    const pieces = await streamCommands(dependencies.lists, { ...query, ...params }).catch(refusedPrefix);
    void reply.header("content-type", "application/json");
    return sendStream(reply, Readable.from(pieces, { objectMode: false }));
  });
  serveRaw(app, COMMAND_STATUS_ROUTES.waitForCommand, async ({ body: { timeoutMs, ...read } }, _request, reply) => {
    const body = await limited(() => waitForCommand(dependencies, read, timeoutMs, closeSignal(reply)));
    if (body === null) throw new ApiError("COMMAND_NOT_FOUND");
    return reply.header("content-type", "application/json").send(body);
  });
}

/** @throws ApiError 400 if too many idempotency keys begin with the prefix. */
function refusedPrefix(error: unknown): never {
  if (!(error instanceof TooManyMatches)) throw error;
  const message = `matches more than ${PREFIX_MATCHES} idempotency keys: give a longer prefix`;
  const issues = [{ path: ["idempotencyKeyPrefix"], code: "too_big", message }];
  throw new ApiError("VALIDATION_FAILED", { issues });
}

/** @throws ApiError 429 for too many concurrent waits. */
async function limited<T>(wait: () => Promise<T>): Promise<T> {
  try {
    return await wait();
  } catch (error) {
    if (!(error instanceof TooManyWaiters)) throw error;
    throw tooManyConcurrentRequests(error);
  }
}

/**
 * Aborts when the caller's connection closes, or once the answer was sent. The listener is on the
 * response: a connection carries many waits, and their listeners would stay on the connection.
 */
function closeSignal(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  reply.raw.once("close", () => closed.abort());
  if (reply.raw.destroyed) closed.abort();
  return closed.signal;
}
