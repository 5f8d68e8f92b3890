/** What is changed within the request: a server's configuration, and the immediate deletion of an account. */
import { AccountNumber, type Actor, Guid, type Server, UpdateServerConfigurationBody } from "@kapi/contracts";
import { ApiError, type Caller, callerOf, type FastifyInstance, parse } from "@kapi/http";
import { z } from "zod";

import { ConfigurationRefused } from "../../operations/update-server-configuration.ts";

const ServerPath = z.object({ serverId: Guid });
const AccountPath = ServerPath.extend({ accountNumber: AccountNumber });

export interface ChangeRouteOperations {
  readonly updateServerConfiguration: (
    serverId: string,
    body: UpdateServerConfigurationBody,
    by: Caller | null,
  ) => Promise<Server | null>;
  readonly deleteTradingAccountImmediately: (
    serverId: string,
    accountNumber: string,
    createdBy: Actor | null,
  ) => Promise<boolean>;
}

/** Registers the routes; both are below /internal. */
export function registerChangeRoutes(app: FastifyInstance, operations: ChangeRouteOperations): void {
  app.patch("/internal/servers/:serverId/configuration", async (request) => {
    const { serverId } = parse(ServerPath, request.params);
    const body = parse(UpdateServerConfigurationBody, request.body);
    const server = await operations.updateServerConfiguration(serverId, body, callerOf(request.headers)).catch(refused);
    if (server === null) throw new ApiError("SERVER_NOT_FOUND");
    return { server };
  });
  app.delete("/internal/servers/:serverId/accounts/:accountNumber", async (request) => {
    const { serverId, accountNumber } = parse(AccountPath, request.params);
    const createdBy = callerOf(request.headers)?.actor ?? null;
    const deleted = await operations.deleteTradingAccountImmediately(serverId, accountNumber, createdBy);
    if (!deleted) throw new ApiError("ACCOUNT_NOT_FOUND");
    return { accountNumber, deleted };
  });
}

function refused(error: unknown): never {
  if (error instanceof ConfigurationRefused) throw new ApiError("VALIDATION_FAILED", { issues: error.issues });
  throw error;
}
