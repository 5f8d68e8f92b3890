import { FINAL_COMMAND_STATUSES } from "@kapi/contracts";
import { DependencyError, type InternalClient } from "@kapi/http";
import { assertDefined } from "@kapi/kernel";
import { z } from "zod";

import type { CommandState, CommandStatus } from "../../domain/ports.ts";

const MAX_ORGANIZATIONS_PER_CALL = 500;
/** command-status itself waits up to 10 s. */
const CAUGHT_UP_TIMEOUT_MS = 12_000;
/** A question; twice does no more than once. */
const REPEATABLE = { repeatable: true };

const OpenCommands = z.object({
  commands: z.array(z.object({ commandId: z.guid(), organizationId: z.guid(), reservedCredits: z.int().min(0) })),
});
/** `later`: it did not fit beside the others. The first one always fits. */
const LookedUp = z.object({
  commands: z.array(z.union([z.null(), z.literal("later"), z.object({ command: z.object({ status: z.string() }) })])),
});
type LookedUp = z.infer<typeof LookedUp>["commands"][number];
const FINAL: ReadonlySet<string> = new Set(FINAL_COMMAND_STATUSES);

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
    states: async (commandIds) => {
      const states = new Map<string, CommandState>();
      let left = [...new Set(commandIds)];
      while (left.length > 0) {
        const body = { commandIds: left };
        const { commands } = await client.json("POST", "/internal/commands/lookup", body, LookedUp, REPEATABLE);
        for (const [index, commandId] of left.entries()) {
          const found = commands[index];
          if (found !== undefined && found !== "later") states.set(commandId, stateOf(found));
        }
        const unanswered = left.filter((commandId) => !states.has(commandId));
        if (commands.length !== left.length || unanswered.length === left.length) {
          const answered = left.length - unanswered.length;
          throw new DependencyError(`command-status looked up ${answered} of ${left.length} commands`);
        }
        left = unanswered;
      }
      return commandIds.map((commandId) => assertDefined(states.get(commandId), "a command's state"));
    },
  };
}

/** A status that this release does not know may still change. */
function stateOf(found: Exclude<LookedUp, "later">): CommandState {
  if (found === null) return "unknown";
  return FINAL.has(found.command.status) ? "final" : "open";
}
