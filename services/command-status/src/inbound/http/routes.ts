import { ApiError, type FastifyInstance, parse } from "@kapi/http";
import type { Clock } from "@kapi/kernel";
import { z } from "zod";

import type { CommandStore, KnownTopics, LogEnds } from "../../domain/ports.ts";
import { lookUpCommands } from "../../operations/look-up-commands.ts";
import { readCommands } from "../../operations/read-commands.ts";
import { waitUntilCaughtUp } from "../../operations/wait-until-caught-up.ts";

/** Most commands or organizations that one call may ask for. */
const MAX_ASKED = 1_000;
const SERVICE_UNAVAILABLE = 503;

const ReadBody = z.object({
  reads: z.array(z.object({ organizationId: z.guid(), commandId: z.guid() })).max(MAX_ASKED),
});
const LookUpBody = z.object({ commandIds: z.array(z.guid()).max(MAX_ASKED) });
const OpenBody = z.object({ organizationIds: z.array(z.guid()).max(MAX_ASKED) });

export interface RouteNeeds {
  readonly store: CommandStore;
  readonly ends: LogEnds;
  readonly topics: KnownTopics;
  readonly clock: Clock;
}

/** The routes for the other services. Bodies of answers are text that is rendered once and never parsed here. */
export function registerRoutes(app: FastifyInstance, needs: RouteNeeds): void {
  app.post("/internal/commands/read", async (request, reply) => {
    const { reads } = parse(ReadBody, request.body);
    const lines = await readCommands(needs.store, reads);
    return reply.header("content-type", "application/x-ndjson").send(lines);
  });
  app.post("/internal/commands/lookup", async (request, reply) => {
    const { commandIds } = parse(LookUpBody, request.body);
    const body = await lookUpCommands(needs.store, commandIds);
    return reply.header("content-type", "application/json").send(body);
  });
  app.post("/internal/commands/open", async (request, reply) => {
    const { organizationIds } = parse(OpenBody, request.body);
    return reply.send({ commands: await needs.store.openOf(organizationIds) });
  });
  app.post("/internal/commands/caught-up", async () => {
    if (await waitUntilCaughtUp(needs)) return { caughtUp: true };
    throw new ApiError("DEPENDENCY_UNAVAILABLE", { status: SERVICE_UNAVAILABLE });
  });
}
