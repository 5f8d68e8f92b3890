import { describe, expect, it } from "vitest";

import { placeOf } from "./router.tsx";

describe("an address of the console", () => {
  it("names a page by the parts of its path, decoded, and its query", () => {
    const { segments, query } = placeOf("/console/accounts/a%20b/10000001", "?page=2");
    expect(segments).toEqual(["accounts", "a b", "10000001"]);
    expect(query.get("page")).toBe("2");
  });

  it("with or without a slash at its end is the first page", () => {
    expect(placeOf("/console", "").segments).toEqual([]);
    expect(placeOf("/console/", "").segments).toEqual([]);
  });

  it("that is no valid text names nothing, and breaks nothing", () => {
    expect(placeOf("/console/accounts/%E0%A4%A", "").segments).toEqual(["accounts", ""]);
  });
});
