/**
 * The statements with which release 0.1.0 ingests commands, and a statement that reads two columns
 * of commands by id. During a rollout, processes of release 0.1.0 run beside processes of this
 * release. Delete this file together with `commands` and `command_counts`, the tables of release
 * 0.1.0.
 */
import { type CommandEvent, type AnyCommandMessage, isFinal } from "@kapi/contracts";
import { type Queryable, statement } from "@kapi/postgres";

const MOVE_POSITION = `
  with position as (
    insert into positions (topic, partition, next_offset)
    select * from unnest($1::text[], $2::integer[], $3::bigint[]) as moved (topic, partition, next_offset)
    order by topic, partition
    on conflict (topic, partition) do update set next_offset = excluded.next_offset
      where excluded.next_offset > positions.next_offset
  )`;

const INGEST_MESSAGES = statement<{ command_id: string; readable: boolean }>(
  "old_take_in_messages",
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

const INGEST_EVENTS = statement<{ command_id: string; readable: boolean }>(
  "old_take_in_events",
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

const BY_IDS = statement<{ command_id: string; status: string }>(
  "old_commands_by_ids",
  "select command_id, status from commands where command_id = any($1::uuid[]) and created_at is not null",
);

/** Writes and reads commands like release 0.1.0. Batches are sorted by id. */
export function oldStore(database: Queryable) {
  const byId = (left: { commandId: string }, right: { commandId: string }): number =>
    left.commandId < right.commandId ? -1 : 1;
  return {
    ingestMessages: (messages: readonly AnyCommandMessage[]) =>
      database.query(INGEST_MESSAGES, [[], [], [], ...messageColumns(messages.toSorted(byId))]),
    ingestEvents: (events: readonly CommandEvent[]) =>
      database.query(INGEST_EVENTS, [[], [], [], ...eventColumns(events.toSorted(byId))]),
    byIds: (commandIds: readonly string[]) => database.query(BY_IDS, [commandIds]),
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
