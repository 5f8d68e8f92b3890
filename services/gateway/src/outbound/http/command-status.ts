import { Command } from "@kapi/contracts";
import { DependencyError, type InternalClient } from "@kapi/http";
import { batcher } from "@kapi/kernel";
import { z } from "zod";

import type { CommandStatus, KnownCommand } from "../../domain/ports.ts";
import { bytesOf, foundBytesOf, withQuery } from "./owner-bytes.ts";

/** Most commands of one call; command-status accepts twice as many. */
const MAX_BATCH_SIZE = 500;
/** Calls under way at once, of each kind; what comes meanwhile makes larger batches. */
const MAX_CONCURRENT_BATCHES = 4;
/** How long the answer to a wait may take when the time is over. */
const WAIT_ANSWER_MS = 2_000;
const LINE_FEED = 0x0a;

const LookUpAnswer = z.object({
  commands: z.array(
    z
      .object({
        fingerprint: z.string(),
        organizationId: z.string(),
        derivationKeyId: z.string().nullable(),
        command: Command,
      })
      .nullable(),
  ),
});

export interface CommandStatusClients {
  readonly client: InternalClient;
  /** For waits: each holds a connection, and must not hold up a read. */
  readonly waitingClient: InternalClient;
  readonly lookUpTimeoutMs: number;
}

/** command-status over internal HTTP. All reads, and all look-ups, of one turn of the event loop share one call. */
export function createCommandStatus({ client, waitingClient, lookUpTimeoutMs }: CommandStatusClients): CommandStatus {
  const read = batcher<{ organizationId: string; commandId: string }, Buffer | null>({
    load: async (reads) => {
      const { status, body } = await client.request("POST", "/internal/commands/read", { reads });
      if (status !== 200) throw new DependencyError(`command-status answered a read with ${status}`);
      return linesOf(body, reads.length);
    },
    maxBatchSize: MAX_BATCH_SIZE,
    maxConcurrentBatches: MAX_CONCURRENT_BATCHES,
  });
  const lookUp = batcher<string, KnownCommand | null>({
    load: async (commandIds) => {
      const options = { timeoutMs: lookUpTimeoutMs };
      return (await client.json("POST", "/internal/commands/lookup", { commandIds }, LookUpAnswer, options)).commands;
    },
    maxBatchSize: MAX_BATCH_SIZE,
    maxConcurrentBatches: MAX_CONCURRENT_BATCHES,
  });
  return {
    read: (organizationId, commandId) => read({ organizationId, commandId }),
    wait: (organizationId, commandId, timeoutMs) =>
      bytesOf(waitingClient, "/internal/commands/wait", {
        method: "POST",
        body: { organizationId, commandId, timeoutMs },
        timeoutMs: timeoutMs + WAIT_ANSWER_MS,
      }),
    lookUp,
    list: (organizationId, serverId, query) =>
      foundBytesOf(client, withQuery(`/internal/servers/${serverId}/commands`, { organizationId, ...query })),
  };
}

/** The lines of a body, not copied; an empty one is null. */
export function linesOf(body: Buffer, count: number): (Buffer | null)[] {
  const lines: (Buffer | null)[] = [];
  let start = 0;
  while (lines.length < count) {
    const end = body.indexOf(LINE_FEED, start);
    if (end < 0) throw new DependencyError(`command-status answered ${lines.length} of ${count} reads`);
    lines.push(end === start ? null : body.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
