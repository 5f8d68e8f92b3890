import { expect, it } from "vitest";

import type { Command } from "../../../api/shapes.ts";
import { ACTIONS, failureText } from "./words.ts";

function failed(change: Partial<Command>): string {
  return failureText({ operation: "account.flatten", status: "failed", errorMessage: null, ...change } as Command);
}

it("a failed command says its own reason if its error code has several reasons", () => {
  const withdrawn = "The command was closed before it was carried out";
  expect(failed({ errorCode: "REJECTED_BY_SERVER", errorMessage: withdrawn })).toBe(`${withdrawn}.`);
  const incomplete = "closed positions: 1; still open, because a market is closed: 2 (GBPUSD)";
  expect(failed({ errorCode: "REJECTED_BY_SERVER", errorMessage: incomplete })).toBe(
    "Closed positions: 1; still open, because a market is closed: 2 (GBPUSD).",
  );
  const rules = { operation: "risk.set_rules", errorCode: "INVALID_STATE_TRANSITION" } as const;
  expect(failed({ ...rules, errorMessage: "the current version is 2" })).toBe("The current version is 2.");
});

it("an archived account has no deposit and no withdrawal", () => {
  const hasAction = (action: "deposit" | "withdraw" | "enable"): boolean => ACTIONS[action].states.includes("archived");
  expect([hasAction("deposit"), hasAction("withdraw"), hasAction("enable")]).toEqual([false, false, true]);
});

it("if the error code of a failed command has one reason, a fixed text replaces the error message", () => {
  const errorMessage = "the account is archived";
  expect(failed({ errorCode: "ACCOUNT_ARCHIVED", errorMessage })).toBe("The account is archived. Enable it first.");
  expect(failed({ errorCode: "INVALID_STATE_TRANSITION", errorMessage })).toBe(
    "The state of the account does not allow this.",
  );
});
