import type { StoredCommand } from "../../domain/ports.ts";

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
  readonly status: string;
  readonly attempts: number;
  readonly result: string | null;
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
  status, attempts, result::text as result, error_code, error_message, ${isoOf("updated_at")}, ${isoOf("completed_at")}`;

/** Renders the row as the JSON of a command (interface, "Command"), once; nothing after it parses it again. */
export function fromRow(row: CommandRow): StoredCommand {
  const json =
    `{"id":"${row.command_id}","operation":"${row.operation}","status":"${row.status}",` +
    `"managedAccountId":${quoted(row.managed_account_id)},"attempts":${row.attempts},"payload":${row.payload},` +
    `"result":${row.result ?? "null"},"errorCode":${quoted(row.error_code)},` +
    `"errorMessage":${text(row.error_message)},"idempotencyKey":${text(row.idempotency_key)},` +
    `"createdAt":"${row.created_at}","completedAt":${quoted(row.completed_at)},"requestId":${text(row.request_id)},` +
    `"serverId":"${row.server_id}","accountNumber":${quoted(row.account_number)},"updatedAt":"${row.updated_at}",` +
    `"deadlineAt":"${row.deadline_at}"}`;
  const { command_id: commandId, organization_id: organizationId, fingerprint } = row;
  return { commandId, organizationId, fingerprint, derivationKeyId: row.derivation_key_id, json };
}

/** For ids, codes and times, which hold nothing that JSON escapes. */
function quoted(value: string | null): string {
  return value === null ? "null" : `"${value}"`;
}

/** For what people wrote. */
function text(value: string | null): string {
  return value === null ? "null" : JSON.stringify(value);
}
