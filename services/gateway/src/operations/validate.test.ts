import { BulkCreateTradingAccountsBody } from "@kapi/contracts";
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
