import type { Readable } from "node:stream";

import {
  AccountDetailsAnswer,
  CommandAnswer,
  type ConsoleAccountAnswer,
  type ListCommandsQuery,
  type ListTradingAccountsQuery,
} from "@kapi/contracts";
import { ApiError, DependencyError } from "@kapi/http";

import type { ConsoleContext } from "./console-context.ts";
import { ownServer } from "./own-server.ts";

type Context = Pick<ConsoleContext, "store" | "accounts" | "commands">;

/** A page of the accounts of an organization's server: the account service's bytes. */
export async function listAccounts(
  { store, accounts }: Context,
  organizationId: string,
  serverId: string,
  query: ListTradingAccountsQuery,
): Promise<Buffer> {
  await ownServer(store, organizationId, serverId);
  const body = await accounts.list(serverId, query);
  if (body === null) throw new DependencyError("the account service does not know the server yet");
  return body;
}

/** An account of an organization's server, without its credentials: those must not reach a client application. */
export async function getAccount(
  { store, accounts }: Context,
  organizationId: string,
  serverId: string,
  accountNumber: string,
): Promise<ConsoleAccountAnswer> {
  await ownServer(store, organizationId, serverId);
  const body = await accounts.details(serverId, accountNumber);
  if (body === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  const { account } = AccountDetailsAnswer.parse(JSON.parse(body.toString("utf8")));
  return { account };
}

/** A page of the commands of an organization's server: command-status's bytes. */
export async function listCommands(
  { store, commands }: Context,
  organizationId: string,
  serverId: string,
  query: ListCommandsQuery,
): Promise<Buffer | Readable> {
  await ownServer(store, organizationId, serverId);
  return commands.list(organizationId, serverId, query);
}

/** A command of an organization's server: command-status's bytes. */
export async function getCommand(
  { store, commands }: Context,
  organizationId: string,
  serverId: string,
  commandId: string,
): Promise<Buffer> {
  await ownServer(store, organizationId, serverId);
  const body = await commands.read(organizationId, commandId);
  const isOfServer =
    body !== null && CommandAnswer.parse(JSON.parse(body.toString("utf8"))).command.serverId === serverId;
  if (body === null || !isOfServer) throw new ApiError("COMMAND_NOT_FOUND");
  return body;
}
