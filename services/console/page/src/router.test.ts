import { describe, expect, it } from "vitest";

import { pageAddressOf } from "./router.tsx";

describe("an address of the console", () => {
  it("has the decoded segments of its path, and its query", () => {
    const { segments, query } = pageAddressOf("/console/accounts/a%20b/10000001", "?page=2");
    expect(segments).toEqual(["accounts", "a b", "10000001"]);
    expect(query.get("page")).toBe("2");
  });

  it("has no segments for the first page, with or without a trailing slash", () => {
    expect(pageAddressOf("/console", "").segments).toEqual([]);
    expect(pageAddressOf("/console/", "").segments).toEqual([]);
  });

  it("has an empty segment in place of a segment that cannot be decoded", () => {
    expect(pageAddressOf("/console/accounts/%E0%A4%A", "").segments).toEqual(["accounts", ""]);
  });
});
