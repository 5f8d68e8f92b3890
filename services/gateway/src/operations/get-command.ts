import { Guid, type KeyEntry, queuedCommand } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { delay } from "@kapi/kernel";
import { z } from "zod";

import { type Call, goneSignal, type Operation } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";

/** Longest time that `?wait=` may ask for (decisions, 3.7). */
const MAX_WAIT_S = 30;
/**
 * Longest wait of one question to command-status: how long a process that stops must wait for it.
 * Below what requests under way are given then.
 */
const WAIT_SLICE_MS = 5_000;
/** How soon it is asked again about a command that only the claim knows yet. */
const NOT_THERE_YET_MS = 50;
/** The server of a command, in the body of an answer. */
const ServerOfCommand = z.object({ command: z.object({ serverId: Guid }) });
const STATUS_MEMBER = Buffer.from('"status":"');
/** First letters of `queued` and `leased`; no final state begins with them. */
const OPEN_STATES: ReadonlySet<number | undefined> = new Set(Buffer.from("ql"));

type GetCommandDependencies = Pick<Dependencies, "admission" | "clock" | "commandStatus" | "isStopping" | "waits">;

/**
 * GET a command: command-status's bytes. What it does not have yet is answered from the claim, so
 * that a read right after the 202 always finds the command (decisions, 3.7). Where Redis has lost
 * its claims, the answer is 500 until command-status has caught up, and not 404. A malformed id is
 * 404, for the operation has no 400. A command of a server that the key does not reach is 404
 * (decisions, 3.3).
 */
export function getCommand(dependencies: GetCommandDependencies): Operation {
  return async (call) => {
    const id = Guid.safeParse(call.params["commandId"]);
    if (!id.success) return call.charge.refuse(new ApiError("COMMAND_NOT_FOUND"));
    let body = await call.charge.readWhileCharging(() => findCommand(dependencies, call.key.organizationId, id.data));
    // Before any wait. The server of a command never changes.
    if (body !== null && !reachesCommand(call.key, body)) body = null;
    const waitMs = waitOf(call);
    if (waitMs > 0) body = await waitUntilFinal(dependencies, call, id.data, body, waitMs);
    if (body === null) throw new ApiError("COMMAND_NOT_FOUND");
    return { status: 200, body };
  };
}

async function findCommand(
  { commandStatus, admission }: Pick<Dependencies, "admission" | "commandStatus">,
  organizationId: string,
  commandId: string,
): Promise<Buffer | null> {
  const read = await commandStatus.read(organizationId, commandId);
  if (read !== null) return read;
  const claimed = await admission.recordedMessage(organizationId, commandId);
  if (claimed !== null) return Buffer.from(JSON.stringify({ command: queuedCommand(claimed) }));
  // The claim may have given way to command-status between the two questions. What is in neither
  // now was never accepted.
  return commandStatus.read(organizationId, commandId);
}

/**
 * Whether the key reaches the server of the command. Only for keys that are limited to servers the
 * body is parsed. Its bytes cannot be searched: a caller wrote parts of them.
 */
function reachesCommand({ serverIds }: KeyEntry, body: Buffer): boolean {
  if (serverIds === null) return true;
  return serverIds.includes(ServerOfCommand.parse(JSON.parse(body.toString("utf8"))).command.serverId);
}

/**
 * The command once it is final, or as it is when the time is over or the caller has left. Where the
 * organization, or this process, or command-status has its share of waits already, the command as
 * it is now (decisions, 1.7).
 */
async function waitUntilFinal(
  dependencies: GetCommandDependencies,
  call: Call,
  commandId: string,
  found: Buffer | null,
  waitMs: number,
): Promise<Buffer | null> {
  if (found === null || !isOpen(found)) return found;
  const release = dependencies.waits.take(call.key.organizationId);
  if (release === null) return found;
  try {
    return await waitInSlices(dependencies, call, commandId, found, dependencies.clock.nowMs() + waitMs);
  } finally {
    release();
  }
}

async function waitInSlices(
  { commandStatus, clock, isStopping }: GetCommandDependencies,
  call: Call,
  commandId: string,
  found: Buffer,
  deadlineMs: number,
): Promise<Buffer> {
  const signal = goneSignal(call);
  let body = found;
  // The process that takes this one's place goes on with the wait, when the caller asks again.
  while (isOpen(body) && !isStopping() && !signal.aborted) {
    const leftMs = Math.ceil(deadlineMs - clock.nowMs());
    if (leftMs <= 0) break;
    const slice = { timeoutMs: Math.min(leftMs, WAIT_SLICE_MS), signal };
    const waited = await commandStatus.wait(call.key.organizationId, commandId, slice).catch((error: unknown) => {
      // A caller who leaves has ended the call; the request is charged as a read, not as our
      // failure.
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
 * Looks at the bytes: the command's own status is the first member of that name, before everything
 * a caller wrote.
 */
function isOpen(body: Buffer): boolean {
  const at = body.indexOf(STATUS_MEMBER);
  return at >= 0 && OPEN_STATES.has(body[at + STATUS_MEMBER.length]);
}

/**
 * Milliseconds to wait. The operation has no 400: what is no number of seconds means no wait, above
 * 30 means 30.
 */
function waitOf(call: Call): number {
  const { query } = call;
  if (query === null || typeof query !== "object" || !("wait" in query)) return 0;
  const seconds = typeof query.wait === "string" && query.wait !== "" ? Number(query.wait) : 0;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), MAX_WAIT_S) * 1_000 : 0;
}
