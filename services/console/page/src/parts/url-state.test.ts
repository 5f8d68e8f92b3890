import { describe, expect, it } from "vitest";

import { changedQuery, sortIn, sortText, type UrlState } from "./url-state.ts";

const FIELDS = ["equity", "createdAt"] as const;
const INITIAL = { field: "createdAt", descending: true } as const;

function sortOf(text: string) {
  return sortIn({ get: () => text } as Partial<UrlState> as UrlState, FIELDS, INITIAL);
}

describe("a list whose state is in the page's address", () => {
  it("starts at the first page after each change of a filter, and keeps the other fields of the address", () => {
    const query = new URLSearchParams("status=active&cursor=abc&page=3&tab=deals");
    expect(changedQuery(query, "", { status: "", search: "A & B" }).toString()).toBe("tab=deals&search=A+%26+B");
    expect(changedQuery(query, "", { cursor: "def" }).get("cursor")).toBe("def");
  });

  it("does not change the fields of another list on the same page", () => {
    const query = new URLSearchParams("deals.cursor=abc&orders.cursor=def");
    expect(changedQuery(query, "deals.", { symbol: "EURUSD" }).toString()).toBe(
      "orders.cursor=def&deals.symbol=EURUSD",
    );
  });

  it("has the order of the address, or the initial order if the address has none or an unknown one", () => {
    expect(sortOf("-equity")).toEqual({ field: "equity", descending: true });
    expect(sortOf("equity")).toEqual({ field: "equity", descending: false });
    expect([sortOf(""), sortOf("-password")]).toEqual([INITIAL, INITIAL]);
    expect(sortText(INITIAL)).toBe("-createdAt");
  });
});
