import { AUDIT_ACTIONS } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { actionInWords, actorInWords, detailsInWords } from "./audit-words.ts";

describe("an entry of the audit log", () => {
  it.each(AUDIT_ACTIONS)("describes the action %s in words", (action) => {
    expect(actionInWords(action)).not.toBe(action);
  });

  it("of a later release shows the name of its action", () => {
    expect(actionInWords("risk.changed")).toBe("risk.changed");
  });

  it.each([
    [{ type: "user", id: "u", name: "ada@example.com" }, "ada@example.com"],
    [{ type: "key", id: "mfrggzdf", name: "Backend" }, "key Backend (mfrggzdf)"],
    [{ type: "key", id: "mfrggzdf", name: null }, "key mfrggzdf"],
    [{ type: "operator", id: null, name: null }, "operator"],
    [null, null],
  ] as const)("whose actor is %j names %s", (actor, words) => {
    expect(actorInWords(actor)).toBe(words);
  });

  it("lists its details, without empty ones", () => {
    expect(
      detailsInWords({ name: "Backend", scopes: ["accounts:read", "metrics:read"], servers: null, failures: 3 }),
    ).toEqual(["name: Backend", "scopes: accounts:read, metrics:read", "failures: 3"]);
  });
});
