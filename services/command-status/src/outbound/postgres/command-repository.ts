import { actorToText, type CommandEvent, type AnyCommandMessage, isFinal } from "@kapi/contracts";
import { isMissingPartition, type Queryable, type Statement, statement } from "@kapi/postgres";

import type { CommandRepository, LogPosition, OpenCommand, IngestedCommand } from "../../domain/ports.ts";
import { COMMAND_COLUMNS, type CommandRow, fromRow, lacksResult, largeResults } from "./command-row.ts";
import { REQUESTED_COMMANDS } from "./command-details.ts";
import { INGEST_EVENTS, INGEST_MESSAGES, type IngestedRow } from "./ingest-statements.ts";
import { createMonthPartitions } from "./month-repository.ts";

/** Maximum total size of the large results in one read, in bytes. */
const MAX_LARGE_BYTES = 16 * 1024 * 1024;

const BY_IDS = statement<CommandRow>(
  "commands_by_ids",
  `select ${COMMAND_COLUMNS} from ${REQUESTED_COMMANDS} where coalesce(commands.created_at, known.created_at) is not null`,
);

/**
 * An event that arrives before the command's message inserts a row without reserved credits. So
 * callers first wait until all published records are ingested (`caught-up`).
 */
const OPEN_OF = statement<{ command_id: string; organization_id: string; reserved_credits: number }>(
  "open_commands_of",
  `select command_id, organization_id, coalesce(reserved_credits, 0) as reserved_credits
   from commands_by_month where organization_id = any($1::uuid[]) and status in ('queued', 'leased')`,
);

const DROPPED_AMONG = statement<{ command_id: string }>(
  "commands_of_dropped_months",
  `select command_id from command_ids
   where command_id = any($1::uuid[]) and month not in (select month from attached_command_months())`,
);

const POSITIONS = statement<{ topic: string; partition: number; next_offset: number }>(
  "positions",
  "select topic, partition, next_offset from positions",
);

/**
 * The commands in PostgreSQL. One statement writes a batch with its positions. Batches are sorted
 * by id, so that two statements cannot deadlock.
 */
export function createCommandRepository(database: Queryable): CommandRepository {
  return {
    ingestMessages: (messages, positions) => ingest(database, INGEST_MESSAGES, messages, messageColumns, positions),
    ingestEvents: (events, positions) => ingest(database, INGEST_EVENTS, events, eventColumns, positions),
    byIds: async (commandIds) => {
      const found = await database.query(BY_IDS, [[...new Set(commandIds)]]);
      const rows = new Map(found.map((row) => [row.command_id, row]));
      const asked = commandIds.map((commandId) => rows.get(commandId) ?? null);
      const fits = fitting(asked);
      const large = asked.filter((row, index) => row !== null && lacksResult(row) && fits[index] === true);
      const results = await largeResults(database, new Set(large.flatMap((row) => row?.command_id ?? [])));
      return asked.map((row, index) => {
        if (row === null) return null;
        return fits[index] === true ? fromRow(row, results.get(row.command_id)) : "later";
      });
    },
    openOf: async (organizationIds) =>
      (await database.query(OPEN_OF, [organizationIds])).map((row): OpenCommand => ({
        commandId: row.command_id,
        organizationId: row.organization_id,
        reservedCredits: row.reserved_credits,
      })),
    positions: async () =>
      (await database.query(POSITIONS, [])).map((row) => ({
        topic: row.topic,
        partition: row.partition,
        nextOffset: BigInt(row.next_offset),
      })),
  };
}

/**
 * Stores a batch. Creates the partition of the current month if it is missing. Skips commands whose
 * month was dropped: they are final.
 */
async function ingest<T extends { readonly commandId: string }>(
  database: Queryable,
  statementOf: Statement<IngestedRow>,
  values: readonly T[],
  columnsOf: (values: readonly T[]) => unknown[],
  positions: readonly LogPosition[],
): Promise<readonly IngestedCommand[]> {
  const sorted = values.toSorted(byCommandId);
  const write = async (written: readonly T[]): Promise<IngestedCommand[]> =>
    (await database.query(statementOf, [...positionColumns(positions), ...columnsOf(written)])).map(toIngestedCommand);
  try {
    return await write(sorted);
  } catch (error) {
    if (!isMissingPartition(error)) throw error;
    await createMonthPartitions(database);
    const commandIds = sorted.map(({ commandId }) => commandId);
    const dropped = await database.query(DROPPED_AMONG, [commandIds]);
    const droppedIds = new Set(dropped.map(({ command_id: commandId }) => commandId));
    return write(sorted.filter(({ commandId }) => !droppedIds.has(commandId)));
  }
}

/**
 * Which rows fit: all small ones, the first large one, and further large ones up to a total of
 * {@link MAX_LARGE_BYTES}.
 */
function fitting(asked: readonly (CommandRow | null)[]): boolean[] {
  let bytes = 0;
  return asked.map((row) => {
    if (row === null || !lacksResult(row)) return true;
    const isFirst = bytes === 0;
    bytes += row.result_bytes;
    return isFirst || bytes <= MAX_LARGE_BYTES;
  });
}

/** PostgreSQL's order of UUIDs, on which the ingest statements rely. */
function byCommandId(left: { commandId: string }, right: { commandId: string }): number {
  return left.commandId.toLowerCase() < right.commandId.toLowerCase() ? -1 : 1;
}

function positionColumns(positions: readonly LogPosition[]): [string[], number[], string[]] {
  return [
    positions.map(({ topic }) => topic),
    positions.map(({ partition }) => partition),
    positions.map(({ nextOffset }) => nextOffset.toString()),
  ];
}

function toIngestedCommand(row: IngestedRow): IngestedCommand {
  return {
    commandId: row.command_id,
    organizationId: row.organization_id,
    final: isFinal(row.status),
    readable: row.readable,
  };
}

function messageColumns(messages: readonly AnyCommandMessage[]): unknown[] {
  return [
    messages.map((message) => message.commandId),
    messages.map((message) => message.organizationId),
    messages.map((message) => message.serverId),
    messages.map((message) => message.accountNumber),
    messages.map((message) => message.managedAccountId),
    messages.map((message) => message.operation),
    messages.map((message) => message.requestId),
    messages.map((message) => message.idempotencyKey),
    messages.map((message) => message.fingerprint),
    messages.map((message) => message.derivationKeyId),
    messages.map((message) => JSON.stringify(message.payload)),
    messages.map((message) => message.reservedCredits),
    messages.map((message) => message.createdAt),
    messages.map((message) => message.deadlineAt),
    messages.map((message) => actorToText(message.createdBy)),
  ];
}

function eventColumns(events: readonly CommandEvent[]): unknown[] {
  return [
    events.map((event) => event.commandId),
    events.map((event) => event.organizationId),
    events.map((event) => event.serverId),
    events.map((event) => event.accountNumber),
    events.map((event) => event.managedAccountId),
    events.map((event) => event.operation),
    events.map((event) => event.version),
    events.map((event) => event.status),
    events.map((event) => event.attempts),
    events.map((event) => (event.result === null ? null : JSON.stringify(event.result))),
    events.map((event) => event.errorCode),
    events.map((event) => event.errorMessage),
    events.map((event) => event.occurredAt),
    events.map((event) => (isFinal(event.status) ? event.occurredAt : null)),
  ];
}
