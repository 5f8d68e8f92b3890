import { describe, expect, it } from "vitest";

import { pathOf, pathSchema } from "./route.ts";

const ROUTE = { path: "/internal/servers/:serverId/accounts/:accountNumber" } as const;
const SERVER_ID = "6F9619FF-8B86-D011-B42D-00C04FC964FF";

describe("the path of a call", () => {
  it("has its parameters encoded", () => {
    expect(pathOf(ROUTE, { params: { serverId: "s/1", accountNumber: "1?2" } })).toBe(
      "/internal/servers/s%2F1/accounts/1%3F2",
    );
  });

  it("needs a value for each parameter", () => {
    expect(() => pathOf(ROUTE, { params: { serverId: "s1" } })).toThrow("accountNumber");
  });

  it("has the given fields of the query, in order", () => {
    const query = { limit: 5, page: undefined, search: "a b&c" };
    expect(pathOf({ path: "/internal/accounts" }, { query })).toBe("/internal/accounts?limit=5&search=a+b%26c");
    expect(pathOf({ path: "/internal/accounts" }, { query: {} })).toBe("/internal/accounts?");
    expect(pathOf({ path: "/internal/accounts" }, {})).toBe("/internal/accounts");
  });
});

describe("the schema of a path's parameters", () => {
  it("parses each parameter and ignores everything else", () => {
    expect(pathSchema(ROUTE)?.parse({ serverId: SERVER_ID, accountNumber: "1000", other: "x" })).toEqual({
      serverId: SERVER_ID.toLowerCase(),
      accountNumber: "1000",
    });
    expect(pathSchema(ROUTE)?.safeParse({ serverId: "s1", accountNumber: "1000" }).success).toBe(false);
  });

  it("is null for a path without parameters", () => {
    expect(pathSchema({ path: "/internal/accounts/existing" })).toBeNull();
  });

  it("cannot be created for a parameter without a schema", () => {
    expect(() => pathSchema({ path: "/internal/:toString" })).toThrow("toString");
  });
});
