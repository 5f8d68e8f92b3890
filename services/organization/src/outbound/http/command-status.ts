import type { InternalClient } from "@kapi/http";
import { z } from "zod";

import type { CommandStatus } from "../../domain/ports.ts";

const MAX_ORGANIZATIONS_PER_CALL = 500;
/** command-status itself waits up to 10 s. */
const CAUGHT_UP_TIMEOUT_MS = 12_000;
/** A question; twice does no more than once. */
const REPEATABLE = { repeatable: true };

const OpenCommands = z.object({
  commands: z.array(z.object({ commandId: z.guid(), organizationId: z.guid(), reservedCredits: z.int().min(0) })),
});
const LookedUp = z.object({ commands: z.array(z.unknown()) });

/** command-status over its internal routes. */
export function commandStatusOver(client: InternalClient): CommandStatus {
  return {
    caughtUp: async () => {
      const answer = await client.request(
        "POST",
        "/internal/commands/caught-up",
        {},
        { timeoutMs: CAUGHT_UP_TIMEOUT_MS, ...REPEATABLE },
      );
      if (answer.status !== 200) throw new Error(`command-status has not caught up: ${answer.status}`);
    },
    open: async (organizationIds) => {
      const found = [];
      for (let from = 0; from < organizationIds.length; from += MAX_ORGANIZATIONS_PER_CALL) {
        const body = { organizationIds: organizationIds.slice(from, from + MAX_ORGANIZATIONS_PER_CALL) };
        found.push(...(await client.json("POST", "/internal/commands/open", body, OpenCommands, REPEATABLE)).commands);
      }
      return found;
    },
    known: async (commandIds) => {
      const path = "/internal/commands/lookup";
      const { commands } = await client.json("POST", path, { commandIds }, LookedUp, REPEATABLE);
      return commandIds.map((_, index) => commands[index] !== null && commands[index] !== undefined);
    },
  };
}
