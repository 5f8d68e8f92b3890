import { ApiError, createHttpServer, startListening, parse } from "@kapi/http";
import { createLogger, Health, type Started } from "@kapi/runtime";
import type { TestEnvironment } from "@kapi/testkit";
import { z } from "zod";

import type { OpenCommand } from "../src/domain/credits/ports.ts";

const OpenRequest = z.object({ organizationIds: z.array(z.guid()) });

/** A server with the internal routes of command-status that a sync calls. */
export interface StandIn {
  readonly url: string;
  /** The open commands that the server returns; tests set them. */
  open: OpenCommand[];
}

/**
 * Answers in place of command-status. The end-to-end tests cover the path with the real service.
 */
export async function startCommandStatus(secrets: TestEnvironment["secrets"]): Promise<Started<StandIn>> {
  const logger = createLogger({ service: "command-status-stand-in", level: "silent" });
  const app = createHttpServer({ logger, health: new Health() });
  app.addHook("onRequest", ({ headers }, _reply, done) => {
    const isKnown = headers["x-service-token"] === secrets.serviceTokens.organization;
    done(isKnown ? undefined : new ApiError("AUTHENTICATION_REQUIRED"));
  });
  let open: OpenCommand[] = [];
  app.post("/internal/commands/caught-up", (_request, reply) => reply.send({}));
  app.post("/internal/commands/open", (request, reply) => {
    const { organizationIds } = parse(OpenRequest, request.body);
    return reply.send({ commands: open.filter((command) => organizationIds.includes(command.organizationId)) });
  });
  const { value, stop } = await listening(app);
  return {
    value: {
      url: value,
      get open() {
        return open;
      },
      set open(commands) {
        open = commands;
      },
    },
    stop,
  };
}

async function listening(app: Parameters<typeof startListening>[0]): Promise<Started<string>> {
  const started = await startListening(app, { host: "127.0.0.1", port: 0 });
  return { value: started.value.url, stop: () => started.stop() };
}
