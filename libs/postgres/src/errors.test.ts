import { describe, expect, it } from "vitest";

import { isTransient } from "./errors.ts";

describe("a transient error", () => {
  it.each(["ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"])("is %s", (code) => {
    expect(isTransient(Object.assign(new Error("connect"), { code }))).toBe(true);
  });

  it("is not an error in the program", () => {
    expect(isTransient(new TypeError("undefined is not a function"))).toBe(false);
  });
});
