import { COMMAND_STATUS_ROUTES } from "@kapi/contracts";
import { ApiError, type FastifyInstance, serve, serveRaw } from "@kapi/http";
import type { Urgency } from "@kapi/kernel";

import type { CommandRepository, LogEndOffsets, TopicIdRepository, WaitingCommands } from "../../domain/ports.ts";
import { lookUpCommands } from "../../operations/look-up-commands.ts";
import { readCommands } from "../../operations/read-commands.ts";
import { waitUntilCaughtUp } from "../../operations/wait-until-caught-up.ts";

const SERVICE_UNAVAILABLE = 503;

interface RouteDependencies {
  readonly repository: CommandRepository;
  /** For each server, how many commands of an organization are not final. */
  readonly waitingOf: (organizationId: string) => Promise<WaitingCommands[]>;
  readonly endOffsets: LogEndOffsets;
  readonly topics: TopicIdRepository;
  /** While a caller waits, the consumers do not use their longest interval between batches. */
  readonly urgency: Urgency;
}

/**
 * Registers the routes that `list-routes.ts` does not register. `readCommands` and `lookUpCommands`
 * return JSON texts of the repository, which are never parsed here.
 */
export function registerCommandRoutes(app: FastifyInstance, dependencies: RouteDependencies): void {
  serveRaw(app, COMMAND_STATUS_ROUTES.readCommands, async ({ body: { reads } }, _request, reply) => {
    const lines = await readCommands(dependencies.repository, reads);
    return reply.header("content-type", "application/x-ndjson").send(lines);
  });
  serveRaw(app, COMMAND_STATUS_ROUTES.lookUpCommands, async ({ body: { commandIds } }, _request, reply) => {
    const found = await lookUpCommands(dependencies.repository, commandIds);
    return reply.header("content-type", "application/json").send(found);
  });
  serve(app, COMMAND_STATUS_ROUTES.listOpenCommands, async ({ body: { organizationIds } }) => ({
    commands: await dependencies.repository.openOf(organizationIds),
  }));
  serve(app, COMMAND_STATUS_ROUTES.countWaitingCommands, async ({ params: { organizationId } }) => ({
    servers: await dependencies.waitingOf(organizationId),
  }));
  serve(app, COMMAND_STATUS_ROUTES.waitUntilCaughtUp, async () => {
    const endUrgency = dependencies.urgency.begin();
    const isCaughtUp = await waitUntilCaughtUp(dependencies).finally(endUrgency);
    if (isCaughtUp) return { caughtUp: true };
    throw new ApiError("DEPENDENCY_UNAVAILABLE", { status: SERVICE_UNAVAILABLE });
  });
}
