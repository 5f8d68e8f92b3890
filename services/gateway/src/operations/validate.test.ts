import { BulkCreateTradingAccountsBody, ListCommandsQuery } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { RequestValidator } from "./validate.ts";

const ITEM = { accountName: "Ada", initialBalance: 1, leverage: 100, requestId: "r" };

const requestOf = (body: unknown) => ({ server: undefined, params: {}, query: {}, idempotencyKey: undefined, body });

function issuesOf(body: unknown): unknown {
  const validator = new RequestValidator();
  expect(validator.body(requestOf(body), BulkCreateTradingAccountsBody)).toBeNull();
  return validator.error()?.issues?.map(({ path }) => path);
}

describe("a body", () => {
  it("with text that cannot be stored is rejected with the path of each text, at any depth of the schema", () => {
    const accounts = [
      ITEM,
      { ...ITEM, accountName: "a\u0000b" },
      { ...ITEM, requestId: "\ud800", password: "x\u0000yyyyyyy" },
    ];
    expect(issuesOf({ accounts })).toEqual([
      ["accounts", 1, "accountName"],
      ["accounts", 2, "password"],
      ["accounts", 2, "requestId"],
    ]);
  });

  it("nested 10,000 deep is rejected in a known field, and ignored in an unknown field", () => {
    const deep: unknown = JSON.parse(`${"[".repeat(10_000)}${"]".repeat(10_000)}`);
    expect(issuesOf(deep)).toEqual([[]]);
    expect(issuesOf({ accounts: deep })).toEqual([["accounts", 0]]);
    expect(issuesOf({ accounts: [{ ...ITEM, accountName: deep }] })).toEqual([["accounts", 0, "accountName"]]);
    const validator = new RequestValidator();
    expect(
      validator.body(requestOf({ accounts: [{ ...ITEM, nonsense: deep }] }), BulkCreateTradingAccountsBody),
    ).toEqual({
      accounts: [ITEM],
    });
  });
});

describe("an issue says what to do", () => {
  it("if the header Idempotency-Key is missing", () => {
    const validator = new RequestValidator();
    validator.idempotencyKey(requestOf({}));
    expect(validator.error()?.issues).toEqual([
      { path: ["Idempotency-Key"], code: "invalid_type", message: "must be sent as a header" },
    ]);
  });

  it.each([
    ["2026-11-27T09:00:00", "must have an offset, such as 2026-11-27T09:00:00Z"],
    ["2026-11-27T09:00", "must have an offset, such as 2026-11-27T09:00:00Z"],
    ["2026-11-27", "must be a date-time with an offset, such as 2026-11-27T09:00:00Z"],
    ["2026-11-27T09:00:00 01:00", "must be a date-time with an offset, such as 2026-11-27T09:00:00Z"],
  ])("if the time %s has no offset, or is no time", (from, message) => {
    const validator = new RequestValidator();
    validator.query({ ...requestOf({}), query: { from } }, ListCommandsQuery);
    expect(validator.error()?.issues).toEqual([{ path: ["from"], code: "invalid_format", message }]);
  });
});
