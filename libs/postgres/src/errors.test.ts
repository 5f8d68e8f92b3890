import { describe, expect, it } from "vitest";

import { isTransient } from "./errors.ts";

describe("an error", () => {
  it.each(["ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"])(
    "with the code %s is transient",
    (code) => {
      expect(isTransient(Object.assign(new Error("connect"), { code }))).toBe(true);
    },
  );

  it("in the program is not transient", () => {
    expect(isTransient(new TypeError("undefined is not a function"))).toBe(false);
  });
});
