import { type ListAuditQuery, type AuditAnswer, type ListCommandsQuery, type AccountRef } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { Readable } from "node:stream";

import type { AccountRecords, RecordList, RecordQuery } from "../domain/account-records.ts";
import { type AuditLog, shownToPeople } from "../domain/audit.ts";
import type { Accounts, Commands, Directory } from "../domain/ports.ts";
import { listAuditLog } from "./list-audit-log.ts";

/**
 * `directory` checks that the organization has the server: `records` and `accounts` do not check
 * it. `accounts` tells whether an account exists: only then are its transactions shown.
 */
export interface AccountRecordDependencies {
  readonly directory: Pick<Directory, "server" | "keyNames">;
  readonly accounts: Pick<Accounts, "existing">;
  readonly records: AccountRecords;
  readonly commands: Pick<Commands, "list">;
  readonly auditLog: AuditLog;
}

/** A page of a list about an account: the exact body of the service that owns the records. */
export async function readAccountRecords(
  { directory, accounts, records }: Pick<AccountRecordDependencies, "directory" | "accounts" | "records">,
  organizationId: string,
  account: AccountRef,
  { list, query }: { readonly list: RecordList; readonly query: RecordQuery },
): Promise<Buffer> {
  await directory.server(organizationId, account.serverId);
  if (list === "transactions") {
    const [exists] = await accounts.existing([account]);
    if (exists !== true) throw new ApiError("ACCOUNT_NOT_FOUND");
  }
  const body = await records.page(list, account, query);
  if (body === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  return body;
}

/**
 * A page of the commands of an account, also of a deleted one and of one that is being created: the
 * exact body of command-status.
 */
export async function listAccountCommands(
  { directory, commands }: Pick<AccountRecordDependencies, "directory" | "commands">,
  organizationId: string,
  { serverId, accountNumber }: AccountRef,
  query: ListCommandsQuery,
): Promise<Buffer | Readable> {
  await directory.server(organizationId, serverId);
  return commands.list(organizationId, serverId, { ...query, accountNumber });
}

/** A page of the audit log about an account, also about a deleted one. */
export async function listAccountAudit(
  { directory, auditLog }: Pick<AccountRecordDependencies, "directory" | "auditLog">,
  organizationId: string,
  { serverId, accountNumber }: AccountRef,
  query: ListAuditQuery,
): Promise<AuditAnswer> {
  await directory.server(organizationId, serverId);
  const subject = { subjectType: "account", subjectId: `${serverId}/${accountNumber}` } as const;
  const page = await listAuditLog({ auditLog, directory }, organizationId, { ...query, ...subject });
  return { ...page, entries: page.entries.map(shownToPeople) };
}
