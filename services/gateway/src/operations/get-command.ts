import { Guid, queuedCommand } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { delay, monotonicClock } from "@kapi/kernel";
import { z } from "zod";

import { type Call, disconnectSignal, type Operation, type OperationCaller } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { WAIT_SLICE_MS, waitMsOf } from "./wait.ts";

/** Pause before the next call, while only the idempotency record has the command. */
const NOT_THERE_YET_MS = 50;
/** The server of a command in a response body. */
const ServerOfCommand = z.object({ command: z.object({ serverId: Guid }) });
const STATUS_MEMBER = Buffer.from('"status":"');
/** First letters of the open states `queued` and `leased`; no final state begins with them. */
const OPEN_STATES: ReadonlySet<number | undefined> = new Set(Buffer.from("ql"));

interface GetCommandDependencies extends Pick<Dependencies, "isStopping" | "waits"> {
  readonly admission: Pick<Dependencies["admission"], "recordedMessage">;
  readonly commandStatus: Pick<Dependencies["commandStatus"], "read" | "wait">;
}

/**
 * GET a command: command-status's response, unchanged. A command that command-status does not have
 * yet is read from its idempotency record, so that a read right after the 202 always finds the
 * command (decisions, 3.7). If Redis has lost its records, the response is 500 until command-status
 * has caught up, not 404. A malformed id is 404: the operation has no 400. A command of a server
 * that the key does not reach is 404 (decisions, 1.3).
 */
export function getCommand(dependencies: GetCommandDependencies): Operation {
  return async (call) => {
    const id = Guid.safeParse(call.params["commandId"]);
    if (!id.success) return call.charge.reject(new ApiError("COMMAND_NOT_FOUND"));
    let body = await call.charge.readWhileCharging(() =>
      findCommand(dependencies, call.caller.organizationId, id.data),
    );
    // Checked before any wait: the server of a command never changes.
    if (body !== null && !reachesCommand(call.caller, body)) body = null;
    const waitMs = waitMsOf(call);
    if (waitMs > 0) body = await waitUntilFinal(dependencies, call, id.data, body, waitMs);
    if (body === null) throw new ApiError("COMMAND_NOT_FOUND");
    return { status: 200, body };
  };
}

async function findCommand(
  { commandStatus, admission }: Pick<GetCommandDependencies, "admission" | "commandStatus">,
  organizationId: string,
  commandId: string,
): Promise<Buffer | null> {
  const read = await commandStatus.read(organizationId, commandId);
  if (read !== null) return read;
  const recorded = await admission.recordedMessage(organizationId, commandId);
  if (recorded !== null) return Buffer.from(JSON.stringify({ command: queuedCommand(recorded) }));
  // Between the two reads, command-status may have stored the command and deleted the message of
  // the record. If command-status still does not have the command, the command was never accepted.
  return commandStatus.read(organizationId, commandId);
}

/**
 * Whether the key reaches the server of the command. The body is parsed only for keys that are
 * limited to servers. A text search is not safe: the body contains text of callers.
 */
function reachesCommand({ serverIds }: OperationCaller, body: Buffer): boolean {
  if (serverIds === null) return true;
  return serverIds.includes(ServerOfCommand.parse(JSON.parse(body.toString("utf8"))).command.serverId);
}

/**
 * Waits until the command is final, the time is over, or the caller disconnects, and returns the
 * command. Returns it at once if the organization, this process or command-status has the maximum
 * number of waits (decisions, 1.7).
 */
async function waitUntilFinal(
  dependencies: GetCommandDependencies,
  call: Call,
  commandId: string,
  found: Buffer | null,
  waitMs: number,
): Promise<Buffer | null> {
  if (found === null || !isOpen(found)) return found;
  const release = dependencies.waits.take(call.caller.organizationId);
  if (release === null) return found;
  try {
    return await waitInSlices(dependencies, call, commandId, found, monotonicClock.nowMs() + waitMs);
  } finally {
    release();
  }
}

async function waitInSlices(
  { commandStatus, isStopping }: Pick<GetCommandDependencies, "commandStatus" | "isStopping">,
  call: Call,
  commandId: string,
  found: Buffer,
  deadlineMs: number,
): Promise<Buffer> {
  const signal = disconnectSignal(call);
  let body = found;
  // Returns early while the process stops; the caller retries on another process.
  while (isOpen(body) && !isStopping() && !signal.aborted) {
    const leftMs = Math.ceil(deadlineMs - monotonicClock.nowMs());
    if (leftMs <= 0) break;
    const slice = { timeoutMs: Math.min(leftMs, WAIT_SLICE_MS), signal };
    const waited = await commandStatus.wait(call.caller.organizationId, commandId, slice).catch((error: unknown) => {
      // The caller disconnected, which aborted the call. The request is charged as a read.
      if (signal.aborted) return body;
      throw error;
    });
    if (waited === "no room") break;
    if (waited === null) await delay(Math.min(NOT_THERE_YET_MS, leftMs), signal);
    else body = waited;
  }
  return body;
}

/**
 * Searches the bytes: the command's status is the first member `status`, before all text of
 * callers.
 */
function isOpen(body: Buffer): boolean {
  const at = body.indexOf(STATUS_MEMBER);
  return at >= 0 && OPEN_STATES.has(body[at + STATUS_MEMBER.length]);
}
