import { FINANCE_ROUTES } from "@kapi/contracts";
import { DependencyError } from "@kapi/http";
import { expect, it } from "vitest";

import { knowing } from "./upstream-response.ts";

const ROUTE = FINANCE_ROUTES.listTradingAccountTransactions;
const CURRENT = Buffer.from('{"transactions":[],"pagination":{"page":1,"nextCursor":null}}');
/** The text of a caller looks like the field, but has escaped quotation marks. */
const FORMER = Buffer.from(`{"transactions":[{"description":${JSON.stringify('"nextCursor":')}}],"pagination":{}}`);

it("a page of release 0.1.0 is an error if that release ignored a cursor or a filter", () => {
  for (const query of [{ limit: 20, cursor: "c" }, { type: "deposit" }]) {
    expect(() => knowing(ROUTE, query, ["status"], FORMER)).toThrow(DependencyError);
    expect(knowing(ROUTE, query, ["status"], CURRENT)).toBe(CURRENT);
  }
});

it("a page of release 0.1.0 is returned for a query that it knows, and so is no page", () => {
  const query = { page: 2, limit: 20, status: "open", type: undefined };
  expect(knowing(ROUTE, query, ["status"], FORMER)).toBe(FORMER);
  expect(knowing(ROUTE, { cursor: "c" }, [], null)).toBeNull();
});
