/** Synchronous changes: a server's configuration, and the immediate deletion of an account. */
import { ACCOUNT_ROUTES, type Actor, type Server, type UpdateServerConfigurationBody } from "@kapi/contracts";
import { ApiError, type Caller, callerOf, type FastifyInstance, serve } from "@kapi/http";

import { InvalidConfigurationError } from "../../operations/update-server-configuration.ts";

interface ChangeRouteOperations {
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

/**
 * Registers the two routes. The change of a configuration answers 404 for an unknown or removed
 * server, and 400 with `issues` for an invalid configuration. The deletion answers 404 only for an
 * account that never existed. Other errors of the operations pass through.
 */
export function registerChangeRoutes(app: FastifyInstance, operations: ChangeRouteOperations): void {
  serve(app, ACCOUNT_ROUTES.updateServerConfiguration, async ({ params: { serverId }, body }, { headers }) => {
    const server = await operations.updateServerConfiguration(serverId, body, callerOf(headers)).catch(refused);
    if (server === null) throw new ApiError("SERVER_NOT_FOUND");
    return { server };
  });
  serve(app, ACCOUNT_ROUTES.deleteTradingAccountImmediately, async ({ params }, { headers }) => {
    const { serverId, accountNumber } = params;
    const createdBy = callerOf(headers)?.actor ?? null;
    const deleted = await operations.deleteTradingAccountImmediately(serverId, accountNumber, createdBy);
    if (!deleted) throw new ApiError("ACCOUNT_NOT_FOUND");
    return { accountNumber, deleted };
  });
}

function refused(error: unknown): never {
  if (error instanceof InvalidConfigurationError) throw new ApiError("VALIDATION_FAILED", { issues: error.issues });
  throw error;
}
