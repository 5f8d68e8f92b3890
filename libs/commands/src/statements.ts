/** The SQL of the inbox, the leases and the stored numbers of partitions. */
import { type Statement, statement } from "@kapi/postgres";
import type { CommandStatus } from "@kapi/contracts";

/** An open row of the inbox, with the columns needed to run it. */
export interface OpenRow {
  readonly command_id: string;
  readonly log_offset: number;
  readonly message: string;
  readonly sealed_password: string | null;
  readonly attempts: number;
}

/** The state of a command that a transaction changes. */
export interface OpenState {
  readonly command_id: string;
  readonly status: CommandStatus;
  readonly version: number;
  readonly attempts: number;
}

/**
 * The condition that a row is open, for statements that find rows by command id. A check constraint
 * makes it equivalent to `status in ('queued', 'leased')`. With a condition on `status`, the
 * planner would use the index of open commands, because the statistics show this index as nearly
 * empty. A statement would then read the whole index for each command id. With thousands of waiting
 * commands this took seconds.
 */
export const OPEN_BY_KEY = "completed_at is null";

/**
 * Columns: partition, command id, offset, server; message and sealed password as lines of JSON.
 * Returns the commands that are new.
 */
export const INSERT_INBOX: Statement<{ command_id: string }> = statement(
  "commands_insert_inbox",
  `insert into command_inbox (partition, command_id, log_offset, server_id, message, sealed_password)
   select m.* from unnest($1::integer[], $2::uuid[], $3::bigint[], $4::uuid[], string_to_array($5, E'\\n', ''),
                             string_to_array($6, E'\\n', '')) m
   on conflict (command_id) do nothing
   returning command_id`,
);

/** $1 partition, $2 server, $3 first offset, $4 limit. In the order of the log. */
export const LOAD_OPEN: Statement<OpenRow> = statement(
  "commands_load_open",
  `select command_id, log_offset, message, sealed_password, attempts from command_inbox
   where partition = $1 and server_id = $2 and log_offset >= $3 and status in ('queued', 'leased')
   order by log_offset limit $4`,
);

/** $1 partition, $2 command ids. Returns the open commands. */
export const LOAD_OPEN_BY_ID: Statement<OpenRow> = statement(
  "commands_load_open_by_id",
  `select command_id, log_offset, message, sealed_password, attempts from command_inbox
   where command_id = any($2::uuid[]) and partition = $1 and ${OPEN_BY_KEY}
   order by log_offset`,
);

/** $1 partition. Returns the servers with open commands. */
export const OPEN_SERVERS: Statement<{ server_id: string }> = statement(
  "commands_open_servers",
  `select distinct server_id from command_inbox where partition = $1 and status in ('queued', 'leased')`,
);

/**
 * Returns the open commands of $1. Locks nothing: `WRITE_UNIT` detects a changed row by its
 * version.
 */
export const READ_OPEN: Statement<OpenState> = statement(
  "commands_read_open",
  `select command_id, status, version, attempts from command_inbox
   where command_id = any($1::uuid[]) and ${OPEN_BY_KEY}`,
);

/** Returns the final commands of $1. */
export const READ_FINAL: Statement<{ command_id: string }> = statement(
  "commands_read_final",
  `select command_id from command_inbox where command_id = any($1::uuid[]) and completed_at is not null`,
);

/** $1 command ids. Returns the messages of the open commands. */
export const MESSAGES: Statement<{ command_id: string; message: string }> = statement(
  "commands_open_messages",
  `select command_id, message from command_inbox where command_id = any($1::uuid[]) and ${OPEN_BY_KEY}`,
);

/** $1 partition. Locks and returns the commands that an earlier holder left as leased. */
export const LOCK_LEASED: Statement<OpenState & { message: string }> = statement(
  "commands_lock_leased",
  `select command_id, status, version, attempts, message from command_inbox
   where partition = $1 and status = 'leased'
   order by command_id for update`,
);

/**
 * Writes new states of open commands, and all messages of the unit. Columns $1-$7: command id,
 * status, version, attempts, error code, error message, completed at; $8: the messages as lines.
 * The statement fails if another transaction has changed a command since it was read: the row then
 * has another version once it is locked. A final row has no message, sealed password or result:
 * command-status has the command and its result.
 */
export const WRITE_UNIT: Statement<{ id: number }> = statement(
  "commands_write_unit_without_result",
  `with changed as (
     update command_inbox i
     set status = c.status, version = c.version, attempts = c.attempts, error_code = c.error_code,
         error_message = c.error_message, completed_at = c.completed_at,
         message = case when c.completed_at is null then i.message else '' end,
         sealed_password = case when c.completed_at is null then i.sealed_password end
     from unnest($1::uuid[], $2::text[], $3::integer[], $4::integer[], $5::text[], $6::text[], $7::timestamptz[])
       as c (command_id, status, version, attempts, error_code, error_message, completed_at)
     where i.command_id = c.command_id and i.version = c.version - 1 and i.${OPEN_BY_KEY}
     returning 1
   )
   insert into outbox (messages)
   values (case when (select count(*) from changed) = cardinality($1::uuid[]) then $8 else refuse_stale_unit() end)
   returning id`,
);

/**
 * $1 topic, $2 partition, $3 holder, $4 lease in ms, $5 generation of the group. The token of the
 * former holder becomes invalid. Returns no row if a member of a later generation holds the lease
 * and it has not expired.
 */
export const ACQUIRE_LEASE: Statement<{ partition: number; token: number }> = statement(
  "commands_acquire_lease",
  `insert into partition_lease as l (topic, partition, token, holder, expires_at, generation)
   values ($1, $2, 1, $3, clock_timestamp() + $4 * interval '1 millisecond', $5)
   on conflict (topic, partition) do update
     set token = l.token + 1, holder = excluded.holder, expires_at = excluded.expires_at, generation = excluded.generation
     where l.generation <= excluded.generation or l.expires_at < clock_timestamp()
   returning partition, token`,
);

/**
 * $1 topic, $2 partitions, $3 tokens, $4 lease in ms. Returns the partitions whose token is
 * current, even if their lease had expired.
 */
export const RENEW_LEASES: Statement<{ partition: number }> = statement(
  "commands_renew_leases",
  `update partition_lease l set expires_at = clock_timestamp() + $4 * interval '1 millisecond'
   from unnest($2::integer[], $3::bigint[]) h (partition, token)
   where l.topic = $1 and l.partition = h.partition and l.token = h.token
   returning l.partition`,
);

/**
 * $1 topic, $2 partitions, $3 tokens. The fencing check: returns the partitions whose token is
 * current and unexpired, and locks their leases until the transaction ends.
 */
export const CHECK_LEASES: Statement<{ partition: number }> = statement(
  "commands_check_leases",
  `select l.partition from partition_lease l
   join unnest($2::integer[], $3::bigint[]) h (partition, token) on h.partition = l.partition and h.token = l.token
   where l.topic = $1 and l.expires_at > clock_timestamp()
   for share of l`,
);

/** $1 topic, $2 number of partitions; 0 only creates a missing row. Never lowers the number. */
export const STORE_PARTITIONS: Statement<never> = statement(
  "commands_store_partitions",
  `insert into inbox_partitions as p (topic, partitions) values ($1, $2)
   on conflict (topic) do update set partitions = greatest(p.partitions, excluded.partitions)`,
);

/** $1 topic. Returns its stored number of partitions, and locks it until the transaction ends. */
export const LOCK_PARTITIONS: Statement<{ partitions: number }> = statement(
  "commands_lock_partitions",
  `select partitions from inbox_partitions where topic = $1 for update`,
);

/** Returns the partitions with open commands. */
export const OPEN_PARTITIONS: Statement<{ partition: number }> = statement(
  "commands_open_partitions",
  `select distinct partition from command_inbox where status in ('queued', 'leased')`,
);

/**
 * An open command that may move to another partition; {@link OPEN_PAGE} sorts by server and offset.
 */
export interface MovableRow {
  readonly command_id: string;
  readonly server_id: string;
  readonly log_offset: number;
  readonly message: string;
}

/** $1 partition, $2 and $3 server and offset of the last row of the previous page, $4 limit. */
export const OPEN_PAGE: Statement<MovableRow> = statement(
  "commands_open_page",
  `select command_id, server_id, log_offset, message from command_inbox
   where partition = $1 and (server_id, log_offset) > ($2, $3) and status in ('queued', 'leased')
   order by server_id, log_offset limit $4`,
);

/**
 * $1 command ids, $2 their new partitions. Moved commands keep their order, and get offsets below
 * all records of their new partition: 2^44 is above the offsets of any partition.
 */
export const MOVE_OPEN: Statement<never> = statement(
  "commands_move_open",
  `update command_inbox i set partition = m.partition, log_offset = i.log_offset - (1::bigint << 44)
   from unnest($1::uuid[], $2::integer[]) m (command_id, partition)
   where i.command_id = m.command_id and i.${OPEN_BY_KEY}`,
);

/** $1 topic. Invalidates all leases: processes from before the growth can change no command. */
export const END_LEASES: Statement<never> = statement(
  "commands_end_leases",
  `update partition_lease set token = token + 1, expires_at = clock_timestamp() where topic = $1`,
);
