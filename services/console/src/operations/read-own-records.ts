import type { Readable } from "node:stream";

import {
  AccountDetailsAnswer,
  CommandAnswer,
  type ConsoleAccountAnswer,
  type ListCommandsQuery,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Accounts, Commands, Directory, Risk } from "../domain/ports.ts";

/**
 * Dependencies, with the directory. Each function first checks in the directory that the server
 * belongs to the organization, because the account and risk services do not check this.
 */
type Owned<T> = T & { readonly directory: Pick<Directory, "server"> };

/** An account without its credentials, which must not reach a client application. */
export async function getAccount(
  { directory, accounts }: Owned<{ readonly accounts: Accounts }>,
  organizationId: string,
  serverId: string,
  accountNumber: string,
): Promise<ConsoleAccountAnswer> {
  await directory.server(organizationId, serverId);
  const body = await accounts.details(serverId, accountNumber);
  if (body === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  const { account } = AccountDetailsAnswer.parse(JSON.parse(body.toString("utf8")));
  return { account };
}

/** A page of the commands of an organization's server: the exact body of command-status. */
export async function listCommands(
  { directory, commands }: Owned<{ readonly commands: Commands }>,
  organizationId: string,
  serverId: string,
  query: ListCommandsQuery,
): Promise<Buffer | Readable> {
  await directory.server(organizationId, serverId);
  return commands.list(organizationId, serverId, query);
}

/** A command of an organization's server: the exact body of command-status. */
export async function getCommand(
  { directory, commands }: Owned<{ readonly commands: Commands }>,
  organizationId: string,
  serverId: string,
  commandId: string,
): Promise<Buffer> {
  await directory.server(organizationId, serverId);
  const body = await commands.read(organizationId, commandId);
  const isOfServer =
    body !== null && CommandAnswer.parse(JSON.parse(body.toString("utf8"))).command.serverId === serverId;
  if (body === null || !isOfServer) throw new ApiError("COMMAND_NOT_FOUND");
  return body;
}

/** Calls `read` with the risk service after checking that the server is the organization's. */
export async function readRisk<T>(
  { directory, risk }: Owned<{ readonly risk: Risk }>,
  organizationId: string,
  serverId: string,
  read: (risk: Risk) => Promise<T>,
): Promise<T> {
  await directory.server(organizationId, serverId);
  return read(risk);
}
