import { COMMAND_STATUS_ROUTES } from "@kapi/contracts";
import { ApiError, type FastifyInstance, serve, serveRaw } from "@kapi/http";
import type { Clock } from "@kapi/kernel";

import type { CommandStore, KnownTopics, LogEnds } from "../../domain/ports.ts";
import { lookUpCommands } from "../../operations/look-up-commands.ts";
import { readCommands } from "../../operations/read-commands.ts";
import { waitUntilCaughtUp } from "../../operations/wait-until-caught-up.ts";

const SERVICE_UNAVAILABLE = 503;

export interface RouteNeeds {
  readonly store: CommandStore;
  readonly ends: LogEnds;
  readonly topics: KnownTopics;
  readonly clock: Clock;
}

/**
 * The routes for the other services. Bodies of answers are text that is rendered once and never
 * parsed here.
 */
export function registerRoutes(app: FastifyInstance, needs: RouteNeeds): void {
  serveRaw(app, COMMAND_STATUS_ROUTES.readCommands, async ({ body: { reads } }, _request, reply) => {
    const lines = await readCommands(needs.store, reads);
    return reply.header("content-type", "application/x-ndjson").send(lines);
  });
  serveRaw(app, COMMAND_STATUS_ROUTES.lookUpCommands, async ({ body: { commandIds } }, _request, reply) => {
    const found = await lookUpCommands(needs.store, commandIds);
    return reply.header("content-type", "application/json").send(found);
  });
  serve(app, COMMAND_STATUS_ROUTES.listOpenCommands, async ({ body: { organizationIds } }) => ({
    commands: await needs.store.openOf(organizationIds),
  }));
  serve(app, COMMAND_STATUS_ROUTES.waitUntilCaughtUp, async () => {
    if (await waitUntilCaughtUp(needs)) return { caughtUp: true };
    throw new ApiError("DEPENDENCY_UNAVAILABLE", { status: SERVICE_UNAVAILABLE });
  });
}
