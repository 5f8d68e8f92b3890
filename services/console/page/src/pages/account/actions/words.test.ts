import { expect, it } from "vitest";

import type { Command } from "../../../api/shapes.ts";
import { ACTIONS, failureText } from "./words.ts";

function failed(change: Partial<Command>): string {
  return failureText({ operation: "account.flatten", status: "failed", errorMessage: null, ...change } as Command);
}

it("the text about a failed command is the command's own reason if the error code has several reasons", () => {
  const withdrawn = "The command was closed before it was carried out";
  expect(failed({ errorCode: "REJECTED_BY_SERVER", errorMessage: withdrawn })).toBe(`${withdrawn}.`);
  const incomplete = "closed positions: 1; still open, because a market is closed: 2 (GBPUSD)";
  expect(failed({ errorCode: "REJECTED_BY_SERVER", errorMessage: incomplete })).toBe(
    "Closed positions: 1; still open, because a market is closed: 2 (GBPUSD).",
  );
  const rules = { operation: "risk.set_rules", errorCode: "INVALID_STATE_TRANSITION" } as const;
  expect(failed({ ...rules, errorMessage: "the current version is 2" })).toBe("The current version is 2.");
});

it("the page of an archived account offers neither a deposit nor a withdrawal", () => {
  const hasAction = (action: "deposit" | "withdraw" | "enable"): boolean => ACTIONS[action].states.includes("archived");
  expect([hasAction("deposit"), hasAction("withdraw"), hasAction("enable")]).toEqual([false, false, true]);
});

it("the text about a failed command is a fixed text if the error code has only one reason", () => {
  const errorMessage = "the account is archived";
  expect(failed({ errorCode: "ACCOUNT_ARCHIVED", errorMessage })).toBe("The account is archived. Enable it first.");
  expect(failed({ errorCode: "INVALID_STATE_TRANSITION", errorMessage })).toBe(
    "The state of the account does not allow this.",
  );
});
