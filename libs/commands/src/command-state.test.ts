import { describe, expect, it } from "vitest";

import { COMMAND_STATUSES, type CommandStatus } from "@kapi/contracts";

import { assertMove, mayMove } from "./command-state.ts";

const ALLOWED: readonly (readonly [CommandStatus, CommandStatus])[] = [
  ["queued", "leased"],
  ["queued", "queued"],
  ["queued", "succeeded"],
  ["queued", "failed"],
  ["queued", "expired"],
  ["leased", "queued"],
  ["leased", "succeeded"],
  ["leased", "failed"],
];

describe("the state of a command", () => {
  const pairs = COMMAND_STATUSES.flatMap((from) => COMMAND_STATUSES.map((to) => [from, to] as const));
  it.each(pairs)("may change from %s to %s if and only if the table of allowed changes has this change", (from, to) => {
    const allowed = ALLOWED.some(([a, b]) => a === from && b === to);
    expect(mayMove(from, to)).toBe(allowed);
    if (allowed) assertMove("c", from, to);
    else expect(() => assertMove("c", from, to)).toThrow(/cannot go/);
  });

  it("never changes once it is final", () => {
    for (const from of ["succeeded", "failed", "expired"] as const) {
      expect(COMMAND_STATUSES.filter((to) => mayMove(from, to))).toEqual([]);
    }
  });
});
