/**
 * account.history_export (decisions, 8): reads the newest records of an account's history from the
 * owners of the records, and merges them. An export changes nothing, so there is nothing to settle:
 * failed reads are repeated.
 */
import type { CommandExecutor, CommandOutcome, LeasedCommand } from "@kapi/commands";
import type { ServerEntry } from "@kapi/contracts";

import { type ExportQuery, mergeHistory } from "../domain/history-export.ts";
import { type HistoryOwner, OwnerUnavailable } from "../domain/ports.ts";

type ExportOutcome = CommandOutcome<null>;

/** The owners of the records of an export, and the known servers. */
export interface ExportOptions {
  /** Records within one millisecond are in the order of this list. */
  readonly owners: readonly HistoryOwner[];
  /** Undefined: the directory does not know the server yet, so the command is retried. */
  readonly serverOf: (serverId: string) => ServerEntry | undefined;
}

/** Creates the executor of export commands. */
export function createExportExecutor(options: ExportOptions): CommandExecutor<null> {
  return {
    execute: async (serverId, commands) => {
      const problem = serverProblem(options.serverOf(serverId));
      if (problem !== null) return commands.map(() => problem);
      return Promise.all(commands.map((command) => exportOne(options, command)));
    },
    settle: async (_serverId, commands) => commands.map(() => ({ kind: "closed" })),
    apply: async () => new Map(),
    // An error of an owner does not count for the breaker of the trading server.
    isUnreachable: () => false,
  };
}

async function exportOne({ owners }: ExportOptions, { message }: LeasedCommand): Promise<ExportOutcome> {
  const { serverId, accountNumber } = message;
  if (message.operation !== "account.history_export" || accountNumber === null) return MALFORMED;
  const { from, to, limit } = message.payload;
  const query: ExportQuery = { from: from ?? null, to: to ?? null, limit };
  try {
    // One record more than requested shows whether more records exist.
    const oneMore = { ...query, limit: query.limit + 1 };
    const histories = await Promise.all(owners.map((owner) => owner.newest(serverId, accountNumber, oneMore)));
    const known = histories.filter((history) => history !== null);
    if (known.length < histories.length) return ACCOUNT_NOT_FOUND;
    return { kind: "succeeded", result: { ...mergeHistory(known, query) }, effect: null };
  } catch (error) {
    if (error instanceof OwnerUnavailable) return { kind: "retry", reason: error.message };
    throw error;
  }
}

const MALFORMED: ExportOutcome = {
  kind: "refuse",
  errorCode: "INTERNAL",
  errorMessage: "The command could not be processed",
};
const ACCOUNT_NOT_FOUND: ExportOutcome = {
  kind: "failed",
  errorCode: "ACCOUNT_NOT_FOUND",
  errorMessage: "Trading account not found",
  effect: null,
};

/** Why nothing can be exported from the server now (decisions, 4.10), or null. */
function serverProblem(server: ServerEntry | undefined): ExportOutcome | null {
  if (server === undefined) return { kind: "retry", reason: "the directory does not know the server yet" };
  if (server.status === "active") return null;
  if (server.status === "disabled") {
    return { kind: "refuse", errorCode: "SERVER_DISABLED", errorMessage: "The server is disabled" };
  }
  return { kind: "refuse", errorCode: "SERVER_UNAVAILABLE", errorMessage: "The server was removed" };
}
