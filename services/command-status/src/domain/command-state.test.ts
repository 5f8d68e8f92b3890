import type { CommandEvent, CommandStatus } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { collapseEvents, dropDuplicates, supersedes } from "./command-state.ts";

function event(commandId: string, version: number, status: CommandStatus): CommandEvent {
  return {
    commandId,
    organizationId: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01",
    serverId: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a02",
    accountNumber: "10000001",
    managedAccountId: null,
    operation: "finance.deposit",
    version,
    status,
    attempts: 1,
    result: null,
    errorCode: null,
    errorMessage: null,
    settlement: null,
    occurredAt: "2026-01-01T00:00:00.000Z",
  };
}

describe("the state of a command", () => {
  it("is the state with the highest version, in any order of arrival", () => {
    expect(supersedes({ version: 2, status: "queued" }, { version: 1, status: "leased" })).toBe(true);
    expect(supersedes({ version: 1, status: "leased" }, { version: 2, status: "queued" })).toBe(false);
    expect(supersedes({ version: 2, status: "leased" }, { version: 2, status: "leased" })).toBe(false);
  });

  it.each(["succeeded", "failed", "expired"] as const)("never changes again once it is %s", (status) => {
    for (const next of ["queued", "leased", "succeeded", "failed", "expired"] as const) {
      expect(supersedes({ version: 9, status: next }, { version: 3, status })).toBe(false);
    }
  });

  it("is found among several states in a batch, for each command separately", () => {
    const batch = [
      event("a", 1, "leased"),
      event("b", 4, "succeeded"),
      event("a", 3, "leased"),
      event("a", 2, "queued"),
      event("b", 5, "leased"),
    ];
    expect(collapseEvents(batch)).toEqual([event("a", 3, "leased"), event("b", 4, "succeeded")]);
  });
});

describe("a message published twice", () => {
  it("is kept once, as its first copy", () => {
    const messages = [
      { commandId: "a", at: 1 },
      { commandId: "b", at: 2 },
      { commandId: "a", at: 3 },
    ];
    expect(dropDuplicates(messages)).toEqual(messages.slice(0, 2));
  });
});
