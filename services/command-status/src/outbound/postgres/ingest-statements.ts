import type { CommandStatus } from "@kapi/contracts";
import { statement } from "@kapi/postgres";

import { MONTH_OF_NEW, OLD_MONTH, PLACEMENT } from "./command-details.ts";

/**
 * The statements that ingest batches. Lock order: rows of `command_ids` by id, rows of details by
 * id, counters, positions. The ids of a batch are sorted and unique, and the arrays of all columns
 * have the order of the ids. The CTE `batch` of a statement returns the months of the commands,
 * also in the order of the ids.
 */

/** The state of a row after its batch. */
export interface IngestedRow {
  readonly command_id: string;
  readonly organization_id: string;
  readonly status: CommandStatus;
  readonly readable: boolean;
}

/**
 * Positions are written by the statement that ingests the batch, and only rise. A process that lost
 * its partitions while it was paused may still write. A position that is lower than the stored one
 * is ignored (README, "Positions").
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
 * The row of a command exists already if an event came first, or if the message was published
 * again. The message then sets only missing columns, and raises `messages`. Complete rows are
 * written too, so that they are returned: after the commit, the caller calls the Redis function
 * `forget` for final commands. After a crash between the commit and this call, the repeated batch
 * must make the call.
 *
 * A command is counted with its first message: `messages` of the row is 1 then, so no repeat counts
 * it again. All rows are locked before the first counter, so two statements cannot deadlock.
 */
export const INGEST_MESSAGES = statement<IngestedRow>(
  "take_in_messages",
  `${MOVE_POSITION}, ${PLACEMENT},
  placed as (
    insert into command_ids as known (command_id, organization_id, server_id, operation, idempotency_key, fingerprint,
      derivation_key_id, created_at, created_by, month)
    select command_id, organization_id, server_id, operation, idempotency_key, decode(fingerprint, 'hex'),
      derivation_key_id, created_at, created_by, ${MONTH_OF_NEW}
    from placement, unnest($4::uuid[], $5::uuid[], $6::uuid[], $9::text[], $11::text[], $12::text[], $13::text[],
        $16::timestamptz[], $18::text[])
      as given (command_id, organization_id, server_id, operation, idempotency_key, fingerprint, derivation_key_id,
        created_at, created_by)
    on conflict (command_id) do update set
      idempotency_key = coalesce(known.idempotency_key, excluded.idempotency_key),
      fingerprint = coalesce(known.fingerprint, excluded.fingerprint),
      derivation_key_id = coalesce(known.derivation_key_id, excluded.derivation_key_id),
      created_at = coalesce(known.created_at, excluded.created_at),
      created_by = coalesce(known.created_by, excluded.created_by)
    returning command_id, month
  ),
  batch as (select array_agg(month order by command_id) as months from placed),
  taken as (
    insert into commands_by_month as commands (command_id, organization_id, server_id, account_number,
      managed_account_id, operation, request_id, idempotency_key, fingerprint, derivation_key_id, payload,
      reserved_credits, created_at, deadline_at, version, status, attempts, updated_at, messages, month)
    select command_id, organization_id, server_id, account_number, managed_account_id, operation, request_id,
      case month when ${OLD_MONTH} then idempotency_key end, case month when ${OLD_MONTH} then fingerprint end,
      case month when ${OLD_MONTH} then derivation_key_id end, payload, reserved_credits, created_at, deadline_at,
      0, 'queued', 0, created_at, 1, month
    from batch, unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::uuid[], $9::text[], $10::text[], $11::text[],
        $12::text[], $13::text[], $14::json[], $15::integer[], $16::timestamptz[], $17::timestamptz[], batch.months)
      as given (command_id, organization_id, server_id, account_number, managed_account_id, operation, request_id,
        idempotency_key, fingerprint, derivation_key_id, payload, reserved_credits, created_at, deadline_at, month)
    on conflict (month, command_id) do update set
      request_id = coalesce(commands.request_id, excluded.request_id),
      idempotency_key = coalesce(commands.idempotency_key, excluded.idempotency_key),
      fingerprint = coalesce(commands.fingerprint, excluded.fingerprint),
      derivation_key_id = coalesce(commands.derivation_key_id, excluded.derivation_key_id),
      payload = coalesce(commands.payload, excluded.payload),
      reserved_credits = coalesce(commands.reserved_credits, excluded.reserved_credits),
      created_at = coalesce(commands.created_at, excluded.created_at),
      deadline_at = coalesce(commands.deadline_at, excluded.deadline_at),
      messages = commands.messages + 1
    returning command_id, organization_id, server_id, operation, created_at, status, messages, month
  ),
  counted as (
    insert into command_counts_by_month as counts (organization_id, server_id, day, operation, month, commands)
    select organization_id, server_id, (created_at at time zone 'UTC')::date, operation, month, count(*)
    from taken where messages = 1 group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (organization_id, server_id, day, operation, month)
      do update set commands = counts.commands + excluded.commands
  )
  select command_id, organization_id, status, true as readable from taken`,
);

/**
 * `excluded.version = commands.version` returns the row of a repeated event, which is written
 * unchanged. A command without a row of `command_ids` gets one. If another process inserts that row
 * at the same time, the month of that process applies.
 */
export const INGEST_EVENTS = statement<IngestedRow>(
  "take_in_events",
  `${MOVE_POSITION}, ${PLACEMENT},
  located as materialized (
    select given.*, known.month
    from unnest($4::uuid[], $5::uuid[], $6::uuid[], $9::text[])
        as given (command_id, organization_id, server_id, operation)
      left join command_ids as known on known.command_id = given.command_id
  ),
  placed as (
    insert into command_ids as known (command_id, organization_id, server_id, operation, month)
    select command_id, organization_id, server_id, operation, ${MONTH_OF_NEW}
    from placement, located as given where given.month is null
    on conflict (command_id) do update set month = known.month
    returning command_id, month
  ),
  batch as (
    select array_agg(month order by command_id) as months
    from (select command_id, month from located where month is not null union all select * from placed) as known
  )
  insert into commands_by_month as commands (command_id, organization_id, server_id, account_number,
    managed_account_id, operation, version, status, attempts, result, error_code, error_message, updated_at,
    completed_at, month)
  select given.*
  from batch, unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::uuid[], $9::text[], $10::integer[], $11::text[],
      $12::integer[], $13::json[], $14::text[], $15::text[], $16::timestamptz[], $17::timestamptz[], batch.months)
    as given (command_id, organization_id, server_id, account_number, managed_account_id, operation, version, status,
      attempts, result, error_code, error_message, updated_at, completed_at, month)
  on conflict (month, command_id) do update set
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
