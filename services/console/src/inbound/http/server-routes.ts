import { AccountNumber, ActorNamesQuery, ConsoleCommandsQuery, Guid, UpdateConsoleServerBody } from "@kapi/contracts";
import { addressOf, ApiError, parse } from "@kapi/http";
import { z } from "zod";

import type { Commands, Users } from "../../domain/ports.ts";
import { findCommands } from "../../operations/find-commands.ts";
import { listServers, type ServerDependencies } from "../../operations/list-servers.ts";
import { nameActors } from "../../operations/name-actors.ts";
import { getAccount, getCommand, listCommands } from "../../operations/read-own-records.ts";
import { updateServer } from "../../operations/update-server.ts";
import { callerOf } from "../../operations/use-session.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const JSON_TYPE = "application/json; charset=utf-8";
/** The parameter of a path that names a server. */
export const ServerPath = z.object({ serverId: Guid });
const CommandPath = ServerPath.extend({ commandId: z.string() });

/** The parameters of a path that name an account of a server. */
export const AccountPath = ServerPath.extend({ accountNumber: AccountNumber });

/** The organization's servers, their accounts and commands, and names of those who made changes. */
export function registerServerRoutes(
  routes: SignedInRoutes,
  dependencies: ServerDependencies & { readonly commands: Commands; readonly users: Users },
): void {
  routes.get("/actors", "read", async ({ user }, request) => {
    const { actors } = parse(ActorNamesQuery, request.query);
    return { names: await nameActors(dependencies, user.organizationId, actors) };
  });
  routes.get("/servers", "read", ({ user }) => listServers(dependencies, user.organizationId));
  routes.patch("/servers/:serverId", "servers:manage", async (signedIn, request) => {
    const { serverId } = parse(ServerPath, request.params);
    const change = parse(UpdateConsoleServerBody, request.body);
    const by = callerOf(signedIn, addressOf(request));
    return { server: await updateServer(dependencies, signedIn.user.organizationId, serverId, change, by) };
  });
  routes.get("/servers/:serverId/accounts/:accountNumber", "read", ({ user }, request) => {
    const { serverId, accountNumber } = parse(AccountPath, request.params);
    return getAccount(dependencies, user.organizationId, serverId, accountNumber);
  });
  routes.get("/servers/:serverId/commands", "read", async ({ user }, request, reply) => {
    const { serverId } = parse(ServerPath, request.params);
    const { by, amount, ...query } = parse(ConsoleCommandsQuery, request.query);
    if (by !== undefined || amount !== undefined) {
      return findCommands(dependencies, user.organizationId, serverId, { by, amount, ...query });
    }
    return reply.type(JSON_TYPE).send(await listCommands(dependencies, user.organizationId, serverId, query));
  });
  routes.get("/servers/:serverId/commands/:commandId", "read", async ({ user }, request, reply) => {
    const { serverId, commandId } = parse(CommandPath, request.params);
    const id = Guid.safeParse(commandId);
    if (!id.success) throw new ApiError("COMMAND_NOT_FOUND");
    return reply.type(JSON_TYPE).send(await getCommand(dependencies, user.organizationId, serverId, id.data));
  });
}
