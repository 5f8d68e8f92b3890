import type { Readable } from "node:stream";

import { CommandStatus, Guid, isFinal, ListCommandsQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { monotonicClock } from "@kapi/kernel";
import { z } from "zod";

import type { CommandsQuery } from "../domain/ports.ts";
import { type Call, disconnectSignal, type Operation } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { takeSlot, holdUntilRead } from "./shares.ts";
import { RequestValidator } from "./validate.ts";
import { WAIT_SLICE_MS, waitMsOf } from "./wait.ts";

interface ListCommandsDependencies extends Pick<Dependencies, "isStopping" | "streams" | "waits"> {
  readonly commandStatus: Pick<Dependencies["commandStatus"], "list" | "stream" | "wait">;
}

/** What a wait needs of a page. A state that this release does not know counts as final. */
const States = z.object({ commands: z.array(z.object({ id: Guid, status: z.string() })) });

/**
 * GET commands of a server: command-status's response, unchanged. With `bulkIdempotencyKey` or
 * `idempotencyKeyPrefix`, and `wait`, the response comes when every command of the page is final or
 * the time is over (decisions, 3.7).
 */
export function listCommands(dependencies: ListCommandsDependencies): Operation {
  const { commandStatus, streams } = dependencies;
  return async (call) => {
    const validator = new RequestValidator();
    const serverId = validator.serverId(call);
    const parsed = validator.query(call, ListCommandsQuery);
    const error = validator.error();
    if (error !== null || parsed === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
    await call.charge.read();
    const { wait: _wait, ...query } = parsed;
    const { organizationId } = call.caller;
    const read = (): Promise<Buffer | null> => commandStatus.list(organizationId, serverId, query);
    const page = await waitUntilFinal(dependencies, call, query, read, await read());
    if (page !== null) return { status: 200, body: page };
    const release = takeSlot(streams, organizationId);
    const stream = (): Promise<Readable> => commandStatus.stream(organizationId, serverId, query);
    return { status: 200, body: await holdUntilRead(release, stream) };
  };
}

/**
 * Reads the page again until all of its commands are final, the time is over, or the caller
 * disconnects. A page that is too large for one body is not waited for. Returns the page at once if
 * the organization, this process or command-status has the maximum number of waits (decisions,
 * 1.7). A wait takes one slot of the organization's share, whatever the number of commands.
 */
async function waitUntilFinal(
  { commandStatus, isStopping, waits }: ListCommandsDependencies,
  call: Call,
  { bulkIdempotencyKey, idempotencyKeyPrefix }: CommandsQuery,
  read: () => Promise<Buffer | null>,
  found: Buffer | null,
): Promise<Buffer | null> {
  const waitMs = waitMsOf(call);
  const isOfKeys = bulkIdempotencyKey !== undefined || idempotencyKeyPrefix !== undefined;
  if (!isOfKeys || waitMs <= 0) return found;
  const deadlineMs = monotonicClock.nowMs() + waitMs;
  let page = found;
  let open = openCommand(page);
  const release = open === undefined ? null : waits.take(call.caller.organizationId);
  if (release === null) return page;
  try {
    const signal = disconnectSignal(call);
    // Returns early while the process stops; the caller retries on another process.
    while (open !== undefined && !isStopping() && !signal.aborted) {
      const leftMs = Math.ceil(deadlineMs - monotonicClock.nowMs());
      if (leftMs <= 0) break;
      const slice = { timeoutMs: Math.min(leftMs, WAIT_SLICE_MS), signal };
      const waited = await commandStatus.wait(call.caller.organizationId, open, slice).catch((error: unknown) => {
        // The caller disconnected, which aborted the call. The request is charged as a read.
        if (signal.aborted) return "no room" as const;
        throw error;
      });
      if (waited === "no room") break;
      page = await read();
      open = openCommand(page);
    }
    return page;
  } finally {
    release();
  }
}

/**
 * The newest command of the page that is not final: of a bulk, one of the last to be carried out.
 */
function openCommand(page: Buffer | null): string | undefined {
  if (page === null) return undefined;
  const { commands } = States.parse(JSON.parse(page.toString("utf8")));
  return commands.find(({ status }) => {
    const known = CommandStatus.safeParse(status);
    return known.success && !isFinal(known.data);
  })?.id;
}
