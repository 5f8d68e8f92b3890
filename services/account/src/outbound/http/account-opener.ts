import { assertDefined } from "@kapi/kernel";
import { type Outcome, type TradingServerClient, TradingServerUnreachable } from "@kapi/trading-server";

import type { AccountOpener, OpeningOutcome } from "../../domain/ports.ts";
import { COMMAND_ERROR_OF } from "./error-codes.ts";

/** Opens accounts through the trading-server contract. */
export function createAccountOpener(client: TradingServerClient): AccountOpener {
  return {
    async open(serverId, openings) {
      const changes = openings.map(({ commandId, ...opening }) => ({
        ...opening,
        type: "create" as const,
        reference: commandId,
      }));
      return (await client.change(serverId, changes)).map(fromOutcome);
    },
    async settle(serverId, commandIds) {
      return (await client.settle(serverId, commandIds)).map(fromOutcome);
    },
  };
}

function fromOutcome(outcome: Outcome): OpeningOutcome {
  switch (outcome.status) {
    case "applied": {
      const event = assertDefined(outcome.event, "the event of a creation");
      return { kind: "opened", openedAt: event.occurredAt };
    }
    case "refused":
      return {
        kind: "refused",
        errorCode: COMMAND_ERROR_OF[outcome.code],
        reason: outcome.message,
      };
    case "closed":
      return { kind: "closed" };
    case "incomplete":
      throw new TradingServerUnreachable(
        `the trading server returned the outcome "incomplete" for a creation: ${outcome.message}`,
      );
  }
}
