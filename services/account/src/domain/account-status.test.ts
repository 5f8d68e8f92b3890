import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { ACCOUNT_MOVES, type AccountMove, CHANGE_REJECTIONS, startsOf, STORED_STATUSES } from "./account-status.ts";

const NOT_READY = "ACCOUNT_NOT_READY";
const INVALID = "INVALID_STATE_TRANSITION";
const NOT_FOUND = "ACCOUNT_NOT_FOUND";

/**
 * The expected table (decisions, 4.3 and 4.8), not derived from the code. Columns: pending, active,
 * failed, close_only, disabled, archived, deleting, deleted.
 */
const ROWS: [AccountMove, string, string[]][] = [
  ["activate", "active", ["moves", ...Array<string>(7).fill("already")]],
  ["fail", "failed", ["moves", ...Array<string>(7).fill("already")]],
  ["enable", "active", [NOT_READY, "already", INVALID, "moves", "moves", "moves", NOT_FOUND, NOT_FOUND]],
  ["closeOnly", "close_only", [NOT_READY, "moves", INVALID, "already", INVALID, INVALID, NOT_FOUND, NOT_FOUND]],
  ["disable", "disabled", [NOT_READY, "moves", INVALID, "moves", "already", INVALID, NOT_FOUND, NOT_FOUND]],
  ["archive", "archived", [NOT_READY, "moves", INVALID, "moves", "moves", "already", NOT_FOUND, NOT_FOUND]],
  ["startDeletion", "deleting", [NOT_READY, "moves", "moves", "moves", "moves", "moves", NOT_FOUND, NOT_FOUND]],
  ["startImmediateDeletion", "deleting", [...Array<string>(6).fill("moves"), "already", "already"]],
  ["finishDeletion", "deleted", [...Array<string>(6).fill(INVALID), "moves", "already"]],
];
/**
 * The expected code with which an update or a password reset fails, in the same columns; null: the
 * command is carried out.
 */
const CHANGES = [NOT_READY, null, NOT_READY, null, null, null, NOT_FOUND, NOT_FOUND];

const CELLS = ROWS.flatMap(([move, , outcomes]) =>
  STORED_STATUSES.map((status, index) => ({ move, status, outcome: outcomes[index] })),
);

describe("the table of the states of an account", () => {
  it.each(CELLS)("has for $move of an account that is $status: $outcome", ({ move, status, outcome }) => {
    expect(ACCOUNT_MOVES[move].from[status]).toBe(outcome);
  });

  it.each(ROWS)("has %s as a move to %s, and has no move that this test does not list", (move, to) => {
    expect(ACCOUNT_MOVES[move].to).toBe(to);
    expect(Object.keys(ACCOUNT_MOVES)).toEqual(ROWS.map(([name]) => name));
  });

  it.each(STORED_STATUSES.map((status, index) => ({ status, rejection: CHANGES[index] })))(
    "has for an update or a password reset of an account that is $status: $rejection",
    ({ status, rejection }) => {
      expect(CHANGE_REJECTIONS[status]).toBe(rejection);
    },
  );

  it("has no move that starts from its own target, or from deleted", () => {
    for (const { to, from } of Object.values(ACCOUNT_MOVES)) {
      expect(from[to]).not.toBe("moves");
      expect(from.deleted).not.toBe("moves");
    }
    expect(startsOf("finishDeletion")).toEqual(["deleting"]);
  });

  it("is equal to the table in the README", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const rows = new Map(
      readme
        .split("\n")
        .filter((line) => line.startsWith("|"))
        .map((line) => line.split("|").slice(1, -1))
        .map((cells) => cells.map((cell) => cell.trim().replaceAll("`", "")))
        .map(([name = "", ...cells]) => [name, cells]),
    );
    expect(rows.get("move")).toEqual(["to", ...STORED_STATUSES]);
    for (const [move, { to, from }] of Object.entries(ACCOUNT_MOVES)) {
      expect(rows.get(move)).toEqual([to, ...STORED_STATUSES.map((status) => from[status])]);
    }
    const changes = STORED_STATUSES.map((status) => CHANGE_REJECTIONS[status] ?? "carried out");
    expect(rows.get("update, password resets")).toEqual(["", ...changes]);
  });
});
