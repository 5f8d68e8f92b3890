import { type CommandStatus, isFinal } from "@kapi/contracts";
import { assert } from "@kapi/kernel";
import { type Database, statement } from "@kapi/postgres";

import type { StoredCommand } from "../../domain/ports.ts";

/**
 * A larger result, in bytes, is not read with its row but by itself ({@link largeResults}), so that a thousand rows stay small.
 * Only exports have such. A result never changes once it is there.
 */
const LARGE_RESULT_BYTES = 16 * 1024;

/** A row as the read statements give it; times are already in the form of the API, JSON columns are text. */
export interface CommandRow {
  readonly command_id: string;
  readonly organization_id: string;
  readonly server_id: string;
  readonly account_number: string | null;
  readonly managed_account_id: string | null;
  readonly operation: string;
  readonly request_id: string;
  readonly idempotency_key: string;
  readonly fingerprint: string;
  readonly derivation_key_id: string | null;
  readonly payload: string;
  readonly created_at: string;
  readonly deadline_at: string;
  readonly status: CommandStatus;
  readonly attempts: number;
  /** Null also where it is a large one. */
  readonly result: string | null;
  readonly result_bytes: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly updated_at: string;
  readonly completed_at: string | null;
}

const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;
const isoOf = (column: string): string => `to_char(commands.${column} at time zone 'UTC', ${ISO}) as ${column}`;

/** The select list of a {@link CommandRow}. */
export const COMMAND_COLUMNS = `command_id, organization_id, server_id, account_number, managed_account_id, operation,
  request_id, idempotency_key, fingerprint, derivation_key_id, payload::text as payload, ${isoOf("created_at")}, ${isoOf("deadline_at")},
  status, attempts, case when result_bytes > ${LARGE_RESULT_BYTES} then null else result::text end as result,
  coalesce(result_bytes, 0) as result_bytes, error_code, error_message, ${isoOf("updated_at")}, ${isoOf("completed_at")}`;

const RESULTS = statement<{ command_id: string; result: string }>(
  "results_of_commands",
  "select command_id, result::text as result from commands where command_id = any($1::uuid[])",
);

/** Whether the row was read without its result. */
export function lacksResult(row: CommandRow): boolean {
  return row.result_bytes > LARGE_RESULT_BYTES;
}

/** The results of commands whose rows lack theirs, by command id. The caller bounds how many bytes they have together. */
export async function largeResults(
  database: Database,
  commandIds: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  if (commandIds.size === 0) return new Map();
  const found = await database.query(RESULTS, [[...commandIds]]);
  return new Map(found.map(({ command_id: commandId, result }) => [commandId, result]));
}

/**
 * Renders the row as the JSON of a command (interface, "Command"), once; nothing after it parses it again. `largeResult`: of
 * a row that lacks its own.
 */
export function fromRow(row: CommandRow, largeResult?: string): StoredCommand {
  assert(lacksResult(row) === (largeResult !== undefined), "a large result is given where the row lacks it");
  const result = largeResult ?? row.result ?? "null";
  const json =
    `{"id":"${row.command_id}","operation":"${row.operation}","status":"${row.status}",` +
    `"managedAccountId":${quoted(row.managed_account_id)},"attempts":${row.attempts},"payload":${row.payload},` +
    `"result":${result},"errorCode":${quoted(row.error_code)},` +
    `"errorMessage":${text(row.error_message)},"idempotencyKey":${text(row.idempotency_key)},` +
    `"createdAt":"${row.created_at}","completedAt":${quoted(row.completed_at)},"requestId":${text(row.request_id)},` +
    `"serverId":"${row.server_id}","accountNumber":${quoted(row.account_number)},"updatedAt":"${row.updated_at}",` +
    `"deadlineAt":"${row.deadline_at}"}`;
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

/** For ids, codes and times, which hold nothing that JSON escapes. */
function quoted(value: string | null): string {
  return value === null ? "null" : `"${value}"`;
}

/** For what people wrote. */
function text(value: string | null): string {
  return value === null ? "null" : JSON.stringify(value);
}
