import { describe, expect, it } from "vitest";

import { isTransient } from "./errors.ts";

describe("a failure that may pass", () => {
  it.each(["ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"])("is %s", (code) => {
    expect(isTransient(Object.assign(new Error("connect"), { code }))).toBe(true);
  });

  it("is no mistake of ours", () => {
    expect(isTransient(new TypeError("undefined is not a function"))).toBe(false);
  });
});
