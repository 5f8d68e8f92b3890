import { COMMAND_STATUS_ROUTES, LATER, pathOf } from "@kapi/contracts";
import {
  ApiError,
  callRoute,
  callRouteRaw,
  DependencyError,
  type InternalClient,
  issuesFromResponse,
  streamRoute,
  unexpectedStatus,
} from "@kapi/http";
import { batcher, monotonicClock } from "@kapi/kernel";

import type { CommandStatus, KnownCommand } from "../../domain/ports.ts";
import { checkedPage } from "./upstream-response.ts";

/** Maximum number of commands in one call; command-status accepts twice as many. */
const MAX_BATCH_SIZE = 500;
/**
 * Maximum number of concurrent calls, of each kind. Requests that wait make the next batches
 * larger.
 */
const MAX_CONCURRENT_BATCHES = 4;
/**
 * Maximum time that look-ups wait for the running call, to share the next one. It is longer than a
 * call takes while command-status is healthy: under load each call then serves many look-ups. It is
 * short enough that a slow call delays other look-ups only briefly.
 */
const LOOK_UP_MAX_BATCH_DELAY_MS = 25;
/**
 * Maximum time that reads wait for the running call, to share the next one: about half of the
 * duration of a call under load. If all reads waited for one call, gateway and command-status would
 * be idle in turn. With 64 readers, throughput is 10 % higher than with 25 ms, at the same cost.
 */
const READ_MAX_BATCH_DELAY_MS = 2;
/** How long command-status may take to answer after the time of a wait is over, in milliseconds. */
const WAIT_ANSWER_MS = 2_000;
const LINE_FEED = 0x0a;
const OK = 200;
const NOT_FOUND = 404;
const CONTENT_TOO_LARGE = 413;
const TOO_MANY_REQUESTS = 429;
const LATER_LINE = Buffer.from(JSON.stringify(LATER));
/** The filters of listCommands that release 0.1.0 knows. */
const FORMER_FILTERS = ["status", "operation", "accountNumber", "requestId", "idempotencyKey", "from", "to"];
/** Time after which a command that did not fit into any response is given up, in milliseconds. */
const LATER_TIMEOUT_MS = 30_000;

const { readCommands, lookUpCommands, waitForCommand, listCommands, streamCommands } = COMMAND_STATUS_ROUTES;

interface CommandStatusClients {
  readonly client: InternalClient;
  /** For waits, which hold a connection each and must not delay reads. */
  readonly waitingClient: InternalClient;
  readonly lookUpTimeoutMs: number;
}

/**
 * command-status over internal HTTP. Reads of one turn of the event loop share one call, and so do
 * look-ups.
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
    maxBatchDelayMs: READ_MAX_BATCH_DELAY_MS,
  });
  const lookUp = batcher<string, KnownCommand | null | typeof LATER>({
    load: async (commandIds) => {
      const options = { timeoutMs: lookUpTimeoutMs, repeatable: true };
      return (await callRoute(client, lookUpCommands, { body: { commandIds } }, options)).commands;
    },
    maxBatchSize: MAX_BATCH_SIZE,
    maxConcurrentBatches: MAX_CONCURRENT_BATCHES,
    maxBatchDelayMs: LOOK_UP_MAX_BATCH_DELAY_MS,
  });
  return {
    read: (organizationId, commandId) => retryWhileLater(() => read({ organizationId, commandId })),
    wait: async (organizationId, commandId, { timeoutMs, signal }) => {
      const options = { timeoutMs: timeoutMs + WAIT_ANSWER_MS, repeatable: true, signal };
      const request = { body: { organizationId, commandId, timeoutMs } };
      const { status, body } = await callRouteRaw(waitingClient, waitForCommand, request, options);
      if (status === OK) return body;
      if (status === NOT_FOUND) return null;
      if (status === TOO_MANY_REQUESTS) return "no room";
      throw unexpectedStatus(waitForCommand.path, status);
    },
    lookUp: (commandId) => retryWhileLater(() => lookUp(commandId)),
    list: async (organizationId, serverId, query) => {
      const request = { params: { serverId }, query: { organizationId, ...query } };
      const response = await callRouteRaw(client, listCommands, request, { organizationId });
      if (response.status === OK) return checkedPage(listCommands, query, FORMER_FILTERS, response.body);
      if (response.status === CONTENT_TOO_LARGE) return null;
      const issues = issuesFromResponse(response);
      if (issues !== null) throw new ApiError("VALIDATION_FAILED", { issues });
      throw unexpectedStatus(pathOf(listCommands, request), response.status);
    },
    stream: async (organizationId, serverId, query) => {
      const request = { params: { serverId }, query: { organizationId, ...query } };
      const { status, body } = await streamRoute(client, streamCommands, request);
      if (status === OK) return body;
      body.destroy();
      throw unexpectedStatus(pathOf(streamCommands, request), status);
    },
  };
}

/**
 * Requests a command again while the response to its batch had no room for it. Each response has
 * room for at least one command with a large result.
 */
async function retryWhileLater<V>(load: () => Promise<V | typeof LATER>): Promise<V> {
  const giveUpAtMs = monotonicClock.nowMs() + LATER_TIMEOUT_MS;
  for (;;) {
    const answer = await load();
    if (answer !== LATER) return answer;
    if (monotonicClock.nowMs() >= giveUpAtMs) throw new DependencyError("command-status had no room for the command");
  }
}

/**
 * Splits a body into `count` lines, without copying. Returns null for an empty line, and LATER for
 * a command that did not fit into the response.
 * @throws DependencyError if the body has fewer lines.
 */
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
