import { actorFromText, type CommandStatus, isFinal } from "@kapi/contracts";
import { assert } from "@kapi/kernel";
import { instantText, type Queryable, statement } from "@kapi/postgres";

import type { StoredCommand } from "../../domain/ports.ts";
import { REQUESTED_COMMANDS } from "./command-details.ts";

/**
 * Maximum size of a result that is read with its row, in bytes. Larger ones, which only exports
 * have, are read separately ({@link largeResults}), so that a thousand rows stay small. A stored
 * result never changes, so a later read of the result still belongs to the row.
 */
const LARGE_RESULT_BYTES = 16 * 1024;

/**
 * A row of the read statements. Times have the format of the API, JSON columns are text. After the
 * retention only the columns of `command_ids` are set.
 */
export interface CommandRow {
  /** `created_at` with the precision of the database. */
  readonly listed_at: string;
  readonly command_id: string;
  readonly organization_id: string;
  readonly server_id: string;
  readonly account_number: string | null;
  readonly managed_account_id: string | null;
  readonly operation: string;
  readonly request_id: string | null;
  readonly idempotency_key: string;
  readonly fingerprint: string;
  readonly derivation_key_id: string | null;
  /** Null if release 0.1.0 accepted the command. */
  readonly created_by: string | null;
  /** Null after the retention. */
  readonly payload: string | null;
  readonly created_at: string;
  readonly deadline_at: string | null;
  readonly status: CommandStatus;
  readonly attempts: number;
  /** Null also for a large result. */
  readonly result: string | null;
  readonly result_bytes: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly updated_at: string | null;
  readonly completed_at: string | null;
}

const isoOf = (time: string, column: string): string =>
  `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ${column}`;
const eitherOf = (column: string): string => `coalesce(commands.${column}, known.${column}) as ${column}`;

/**
 * The select list of a {@link CommandRow}, from `commands` (the details, null after the retention)
 * and `known` (the row of `command_ids`, null until it is backfilled).
 */
export const COMMAND_COLUMNS = `${["command_id", "organization_id", "server_id", "operation"].map(eitherOf).join(", ")},
  commands.account_number, commands.managed_account_id, commands.request_id, ${eitherOf("idempotency_key")},
  coalesce(commands.fingerprint, encode(known.fingerprint, 'hex')) as fingerprint, ${eitherOf("derivation_key_id")},
  known.created_by, commands.payload::text as payload, ${isoOf("coalesce(commands.created_at, known.created_at)", "created_at")},
  ${isoOf("commands.deadline_at", "deadline_at")}, coalesce(commands.status, known.status, 'succeeded') as status,
  coalesce(commands.attempts, known.attempts, 1) as attempts,
  case when commands.result_bytes > ${LARGE_RESULT_BYTES} then null else commands.result::text end as result,
  coalesce(commands.result_bytes, 0) as result_bytes, ${eitherOf("error_code")}, commands.error_message,
  ${isoOf("commands.updated_at", "updated_at")}, ${isoOf("commands.completed_at", "completed_at")},
  ${instantText("commands.created_at")} as listed_at`;

const RESULTS = statement<{ command_id: string; result: string }>(
  "results_of_commands",
  `select commands.command_id, commands.result::text as result from ${REQUESTED_COMMANDS}
   where commands.result is not null`,
);

/** Whether the row was read without its result. */
export function lacksResult(row: CommandRow): boolean {
  return row.result_bytes > LARGE_RESULT_BYTES;
}

/** Reads large results by command id. The caller bounds their total size. */
export async function largeResults(
  database: Queryable,
  commandIds: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  if (commandIds.size === 0) return new Map();
  const found = await database.query(RESULTS, [[...commandIds]]);
  return new Map(found.map(({ command_id: commandId, result }) => [commandId, result]));
}

/**
 * Returns the command of a row, with its JSON (interface, "Command"). `largeResult` is the result
 * of a row that was read without its result.
 */
export function fromRow(row: CommandRow, largeResult?: string): StoredCommand {
  assert(
    lacksResult(row) === (largeResult !== undefined),
    "a large result is missing, or was given for a row that has its result",
  );
  const json = row.payload === null ? shortJson(row) : fullJson(row, largeResult ?? row.result ?? "null");
  const { command_id: commandId, organization_id: organizationId, fingerprint } = row;
  return {
    commandId,
    organizationId,
    fingerprint,
    derivationKeyId: row.derivation_key_id,
    isFinal: isFinal(row.status),
    json,
  };
}

function fullJson(row: CommandRow, result: string): string {
  return (
    `{"id":"${row.command_id}","operation":"${row.operation}","status":"${row.status}",` +
    `"managedAccountId":${quoted(row.managed_account_id)},"attempts":${row.attempts},"payload":${row.payload},` +
    `"result":${result},"errorCode":${quoted(row.error_code)},` +
    `"errorMessage":${text(row.error_message)},"idempotencyKey":${text(row.idempotency_key)},` +
    `"createdAt":"${row.created_at}","completedAt":${quoted(row.completed_at)},"requestId":${text(row.request_id)},` +
    `"serverId":"${row.server_id}","accountNumber":${quoted(row.account_number)},"updatedAt":${quoted(row.updated_at)},` +
    `"deadlineAt":${quoted(row.deadline_at)},"createdBy":${createdBy(row)}}`
  );
}

/** The JSON of a command after the retention: required fields, server, error code and creator. */
function shortJson(row: CommandRow): string {
  return (
    `{"id":"${row.command_id}","operation":"${row.operation}","status":"${row.status}","attempts":${row.attempts},` +
    `"result":null,"errorCode":${quoted(row.error_code)},"idempotencyKey":${text(row.idempotency_key)},` +
    `"createdAt":"${row.created_at}","serverId":"${row.server_id}","createdBy":${createdBy(row)}}`
  );
}

function createdBy(row: CommandRow): string {
  return JSON.stringify(actorFromText(row.created_by));
}

/** For ids, codes and times, which have no characters that JSON escapes. */
function quoted(value: string | null): string {
  return value === null ? "null" : `"${value}"`;
}

/** For texts with any characters. */
function text(value: string | null): string {
  return value === null ? "null" : JSON.stringify(value);
}
