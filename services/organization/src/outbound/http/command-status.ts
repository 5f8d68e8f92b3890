import { COMMAND_STATUS_ROUTES, FINAL_COMMAND_STATUSES, LATER, LOOK_UP_STATUSES } from "@kapi/contracts";
import { callRoute, callRouteRaw, DependencyError, type InternalClient } from "@kapi/http";
import { assertDefined } from "@kapi/kernel";
import type { z } from "zod";

import type { CommandState, CommandStatus } from "../../domain/credits/ports.ts";

const MAX_ORGANIZATIONS_PER_CALL = 500;
/** command-status waits up to 10 s. */
const CAUGHT_UP_TIMEOUT_MS = 12_000;
/** Reads only: safe to repeat. */
const REPEATABLE = { repeatable: true };

type LookedUp = z.output<typeof LOOK_UP_STATUSES.answer>["commands"][number];
const FINAL: ReadonlySet<string> = new Set(FINAL_COMMAND_STATUSES);

/** The command-status service over internal HTTP. */
export function createCommandStatus(client: InternalClient): CommandStatus {
  return {
    caughtUp: async () => {
      const options = { timeoutMs: CAUGHT_UP_TIMEOUT_MS, ...REPEATABLE };
      const answer = await callRouteRaw(client, COMMAND_STATUS_ROUTES.waitUntilCaughtUp, { body: {} }, options);
      if (answer.status !== 200) throw new Error(`command-status has not caught up: ${answer.status}`);
    },
    open: async (organizationIds) => {
      const found = [];
      for (let from = 0; from < organizationIds.length; from += MAX_ORGANIZATIONS_PER_CALL) {
        const body = { organizationIds: organizationIds.slice(from, from + MAX_ORGANIZATIONS_PER_CALL) };
        const { commands } = await callRoute(client, COMMAND_STATUS_ROUTES.listOpenCommands, { body }, REPEATABLE);
        found.push(...commands);
      }
      return found;
    },
    states: async (commandIds) => {
      const states = new Map<string, CommandState>();
      let left = [...new Set(commandIds)];
      while (left.length > 0) {
        const body = { commandIds: left };
        const { commands } = await callRoute(client, LOOK_UP_STATUSES, { body }, REPEATABLE);
        for (const [index, commandId] of left.entries()) {
          const found = commands[index];
          if (found !== undefined && found !== LATER) states.set(commandId, stateOf(found));
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

/** A status of a later release counts as open, because it may still change. */
function stateOf(found: Exclude<LookedUp, typeof LATER>): CommandState {
  if (found === null) return "unknown";
  return FINAL.has(found.command.status) ? "final" : "open";
}
