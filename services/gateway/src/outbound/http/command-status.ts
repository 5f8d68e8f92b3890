import { COMMAND_STATUS_ROUTES, LATER, pathOf } from "@kapi/contracts";
import { callRoute, callRouteRaw, DependencyError, type InternalClient, streamRoute, unexpected } from "@kapi/http";
import { batcher, monotonicClock } from "@kapi/kernel";

import type { CommandStatus, KnownCommand } from "../../domain/ports.ts";

/** Most commands of one call; command-status accepts twice as many. */
const MAX_BATCH_SIZE = 500;
/** Calls under way at once, of each kind; what comes meanwhile makes larger batches. */
const MAX_CONCURRENT_BATCHES = 4;
/**
 * How long look-ups wait at most for the call under way, to share the next one; longer than a call
 * takes while command-status is well, so that under load each call is worth its cost, and short
 * enough that one held up holds up nobody for long.
 */
const LOOK_UP_PATIENCE_MS = 25;
/**
 * The same of reads, about half of what a call takes under load: where all wait for one call,
 * gateway and command-status take turns, and each is idle meanwhile. With 64 readers a tenth more
 * are answered than with 25 ms, at no more cost.
 */
const READ_PATIENCE_MS = 2;
/** How long the answer to a wait may take when the time is over. */
const WAIT_ANSWER_MS = 2_000;
const LINE_FEED = 0x0a;
const OK = 200;
const NOT_FOUND = 404;
const CONTENT_TOO_LARGE = 413;
const TOO_MANY_REQUESTS = 429;
const LATER_LINE = Buffer.from(JSON.stringify(LATER));
/** How long one command is asked for again and again, in milliseconds. */
const LATER_TIMEOUT_MS = 30_000;

const { readCommands, lookUpCommands, waitForCommand, listCommands, streamCommands } = COMMAND_STATUS_ROUTES;

export interface CommandStatusClients {
  readonly client: InternalClient;
  /** For waits: each holds a connection, and must not hold up a read. */
  readonly waitingClient: InternalClient;
  readonly lookUpTimeoutMs: number;
}

/**
 * command-status over internal HTTP. All reads, and all look-ups, of one turn of the event loop
 * share one call, with those that waited for it.
 */
export function createCommandStatus({ client, waitingClient, lookUpTimeoutMs }: CommandStatusClients): CommandStatus {
  const read = batcher<{ organizationId: string; commandId: string }, Buffer | null | typeof LATER>({
    load: async (reads) => {
      const { status, body } = await callRouteRaw(client, readCommands, { body: { reads } }, { repeatable: true });
      if (status !== 200) throw new DependencyError(`command-status answered a read with ${status}`);
      return linesOf(body, reads.length);
    },
    maxBatchSize: MAX_BATCH_SIZE,
    maxConcurrentBatches: MAX_CONCURRENT_BATCHES,
    patienceMs: READ_PATIENCE_MS,
  });
  const lookUp = batcher<string, KnownCommand | null | typeof LATER>({
    load: async (commandIds) => {
      const options = { timeoutMs: lookUpTimeoutMs, repeatable: true };
      return (await callRoute(client, lookUpCommands, { body: { commandIds } }, options)).commands;
    },
    maxBatchSize: MAX_BATCH_SIZE,
    maxConcurrentBatches: MAX_CONCURRENT_BATCHES,
    patienceMs: LOOK_UP_PATIENCE_MS,
  });
  return {
    read: (organizationId, commandId) => untilItFits(() => read({ organizationId, commandId })),
    wait: async (organizationId, commandId, { timeoutMs, signal }) => {
      const options = { timeoutMs: timeoutMs + WAIT_ANSWER_MS, repeatable: true, signal };
      const asked = { body: { organizationId, commandId, timeoutMs } };
      const { status, body } = await callRouteRaw(waitingClient, waitForCommand, asked, options);
      if (status === OK) return body;
      if (status === NOT_FOUND) return null;
      if (status === TOO_MANY_REQUESTS) return "no room";
      throw unexpected(waitForCommand.path, status);
    },
    lookUp: (commandId) => untilItFits(() => lookUp(commandId)),
    list: async (organizationId, serverId, query) => {
      const asked = { params: { serverId }, query: { organizationId, ...query } };
      const { status, body } = await callRouteRaw(client, listCommands, asked, { organizationId });
      if (status === OK) return body;
      if (status === CONTENT_TOO_LARGE) return null;
      throw unexpected(pathOf(listCommands, asked), status);
    },
    stream: async (organizationId, serverId, query) => {
      const asked = { params: { serverId }, query: { organizationId, ...query } };
      const { status, body } = await streamRoute(client, streamCommands, asked);
      if (status === OK) return body;
      body.destroy();
      throw unexpected(pathOf(streamCommands, asked), status);
    },
  };
}

/**
 * Asks again for what did not fit into an answer beside what others asked for: of commands with a
 * large result there is at least one in every answer.
 */
async function untilItFits<V>(ask: () => Promise<V | typeof LATER>): Promise<V> {
  const giveUpAtMs = monotonicClock.nowMs() + LATER_TIMEOUT_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== LATER) return answer;
    if (monotonicClock.nowMs() >= giveUpAtMs) throw new DependencyError("command-status had no room for the command");
  }
}

/** The lines of a body, not copied; an empty one is null. */
export function linesOf(body: Buffer, count: number): (Buffer | null | typeof LATER)[] {
  const lines: (Buffer | null | typeof LATER)[] = [];
  let start = 0;
  while (lines.length < count) {
    const end = body.indexOf(LINE_FEED, start);
    if (end < 0) throw new DependencyError(`command-status answered ${lines.length} of ${count} reads`);
    const line = body.subarray(start, end);
    lines.push(end === start ? null : line.equals(LATER_LINE) ? LATER : line);
    start = end + 1;
  }
  return lines;
}
