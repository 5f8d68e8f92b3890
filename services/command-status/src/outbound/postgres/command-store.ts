import { type CommandEvent, type CommandMessage, type CommandStatus, isFinal } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";

import type { CommandStore, LogPosition, OpenCommand, TakenIn } from "../../domain/ports.ts";
import { COMMAND_COLUMNS, type CommandRow, fromRow, lacksResult, largeResults } from "./command-row.ts";

/** Large results read together, in bytes; the caller asks again for the others. */
const MAX_LARGE_BYTES = 16 * 1024 * 1024;

interface TakenInRow {
  readonly command_id: string;
  readonly organization_id: string;
  readonly status: CommandStatus;
  readonly readable: boolean;
}

/**
 * Positions are written by the statement that takes the batch in, and only rise. A process that lost its partitions while it was
 * paused may still write: its position is lower than the new owner's, and is ignored (README, "Positions").
 */
const MOVE_POSITION = `
  with position as (
    insert into positions (topic, partition, next_offset)
    select * from unnest($1::text[], $2::integer[], $3::bigint[]) as moved (topic, partition, next_offset)
    order by topic, partition
    on conflict (topic, partition) do update set next_offset = excluded.next_offset
      where excluded.next_offset > positions.next_offset
  )`;

/**
 * A message meets a row of its command where an event came first, or where it was published again; it fills what is
 * missing and changes nothing else. Rows that were complete are written unchanged, so that they are among the
 * answers: after a crash between commit and claims, the repeat must tell the claims again.
 *
 * A command is counted with its first message, which the row itself knows, so that no repeat and no other process counts
 * it again. All rows are locked before the first counter is: two such statements wait for each other in one order.
 */
const TAKE_IN_MESSAGES = statement<TakenInRow>(
  "take_in_messages",
  `${MOVE_POSITION},
  taken as (insert into commands (command_id, organization_id, server_id, account_number, managed_account_id, operation,
    request_id, idempotency_key, fingerprint, derivation_key_id, payload, reserved_credits, created_at, deadline_at,
    version, status, attempts, updated_at, messages)
  select given.*, 0, 'queued', 0, given.created_at, 1
  from unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::uuid[], $9::text[], $10::text[], $11::text[],
    $12::text[], $13::text[], $14::json[], $15::integer[], $16::timestamptz[], $17::timestamptz[])
    as given (command_id, organization_id, server_id, account_number, managed_account_id, operation, request_id,
      idempotency_key, fingerprint, derivation_key_id, payload, reserved_credits, created_at, deadline_at)
  on conflict (command_id) do update set
    request_id = coalesce(commands.request_id, excluded.request_id),
    idempotency_key = coalesce(commands.idempotency_key, excluded.idempotency_key),
    fingerprint = coalesce(commands.fingerprint, excluded.fingerprint),
    derivation_key_id = coalesce(commands.derivation_key_id, excluded.derivation_key_id),
    payload = coalesce(commands.payload, excluded.payload),
    reserved_credits = coalesce(commands.reserved_credits, excluded.reserved_credits),
    created_at = coalesce(commands.created_at, excluded.created_at),
    deadline_at = coalesce(commands.deadline_at, excluded.deadline_at),
    messages = commands.messages + 1
  returning command_id, organization_id, server_id, operation, created_at, status, messages),
  counted as (
    insert into command_counts (organization_id, server_id, day, operation, commands)
    select organization_id, server_id, (created_at at time zone 'UTC')::date, operation, count(*)
    from taken where messages = 1 group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (organization_id, server_id, day, operation)
      do update set commands = command_counts.commands + excluded.commands
  )
  select command_id, organization_id, status, true as readable from taken`,
);

/** `=` lets the repeat of an event be answered too; it writes what is there already. */
const TAKE_IN_EVENTS = statement<TakenInRow>(
  "take_in_events",
  `${MOVE_POSITION}
  insert into commands (command_id, organization_id, server_id, account_number, managed_account_id, operation,
    version, status, attempts, result, error_code, error_message, updated_at, completed_at)
  select given.*
  from unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::uuid[], $9::text[], $10::integer[], $11::text[],
    $12::integer[], $13::json[], $14::text[], $15::text[], $16::timestamptz[], $17::timestamptz[])
    as given (command_id, organization_id, server_id, account_number, managed_account_id, operation, version, status,
      attempts, result, error_code, error_message, updated_at, completed_at)
  on conflict (command_id) do update set
    account_number = coalesce(excluded.account_number, commands.account_number),
    managed_account_id = coalesce(excluded.managed_account_id, commands.managed_account_id),
    version = excluded.version,
    status = excluded.status,
    attempts = excluded.attempts,
    result = excluded.result,
    error_code = excluded.error_code,
    error_message = excluded.error_message,
    updated_at = excluded.updated_at,
    completed_at = excluded.completed_at
  where excluded.version = commands.version
    or (excluded.version > commands.version and commands.status not in ('succeeded', 'failed', 'expired'))
  returning command_id, organization_id, status, created_at is not null as readable`,
);

const BY_IDS = statement<CommandRow>(
  "commands_by_ids",
  `select ${COMMAND_COLUMNS}
   from commands where command_id = any($1::uuid[]) and created_at is not null`,
);

/** What is reserved for a command stands in its message; callers wait for both topics first (`caught-up`). */
const OPEN_OF = statement<{ command_id: string; organization_id: string; reserved_credits: number }>(
  "open_commands_of",
  `select command_id, organization_id, coalesce(reserved_credits, 0) as reserved_credits
   from commands where organization_id = any($1::uuid[]) and status in ('queued', 'leased')`,
);

const POSITIONS = statement<{ topic: string; partition: number; next_offset: number }>(
  "positions",
  "select topic, partition, next_offset from positions",
);

/** The commands in PostgreSQL. Each function is one statement; batches are sorted by id so that two cannot deadlock. */
export function createCommandStore(database: Database): CommandStore {
  return {
    takeInMessages: async (messages, positions) => {
      const sorted = messages.toSorted(byCommandId);
      return (await database.query(TAKE_IN_MESSAGES, [...placesOf(positions), ...messageColumns(sorted)])).map(
        toTakenIn,
      );
    },
    takeInEvents: async (events, positions) => {
      const sorted = events.toSorted(byCommandId);
      return (await database.query(TAKE_IN_EVENTS, [...placesOf(positions), ...eventColumns(sorted)])).map(toTakenIn);
    },
    byIds: async (commandIds) => {
      const rows = new Map((await database.query(BY_IDS, [commandIds])).map((row) => [row.command_id, row]));
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

/** Which of the rows have room: large results have at most {@link MAX_LARGE_BYTES} together, but for the first one. */
function fitting(asked: readonly (CommandRow | null)[]): boolean[] {
  let bytes = 0;
  return asked.map((row) => {
    if (row === null || !lacksResult(row)) return true;
    const isFirst = bytes === 0;
    bytes += row.result_bytes;
    return isFirst || bytes <= MAX_LARGE_BYTES;
  });
}

function byCommandId(left: { commandId: string }, right: { commandId: string }): number {
  return left.commandId < right.commandId ? -1 : 1;
}

function placesOf(positions: readonly LogPosition[]): [string[], number[], string[]] {
  return [
    positions.map(({ topic }) => topic),
    positions.map(({ partition }) => partition),
    positions.map(({ nextOffset }) => nextOffset.toString()),
  ];
}

function toTakenIn(row: TakenInRow): TakenIn {
  return {
    commandId: row.command_id,
    organizationId: row.organization_id,
    final: isFinal(row.status),
    readable: row.readable,
  };
}

function messageColumns(messages: readonly CommandMessage[]): unknown[] {
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
