import type { Outcome, TradingServerClient } from "@kapi/trading-server";

import type { ChangeOutcome } from "../../domain/account-change.ts";
import type { AccountChanger } from "../../domain/ports.ts";
import { COMMAND_ERROR_OF } from "./error-codes.ts";

/** Changes accounts through the trading-server contract. */
export function createAccountChanger(client: TradingServerClient): AccountChanger {
  return {
    async change(serverId, changes) {
      const sent = changes.map(({ change, ...target }) => ({ ...change, ...target }));
      return (await client.change(serverId, sent)).map(fromOutcome);
    },
    async settle(serverId, references) {
      return (await client.settle(serverId, references)).map(fromOutcome);
    },
  };
}

function fromOutcome(outcome: Outcome): ChangeOutcome {
  switch (outcome.status) {
    case "applied":
      return { kind: "applied", event: outcome.event };
    case "refused":
      return { kind: "refused", errorCode: COMMAND_ERROR_OF[outcome.code], reason: outcome.message };
    case "closed":
      return { kind: "closed" };
    case "incomplete":
      return { kind: "incomplete", reason: outcome.message };
  }
}
