import { describe, expect, it } from "vitest";

import { FaultBody } from "./control-schemas.ts";

const ACCOUNT = "10000001";

describe("a fault", () => {
  it.each(["settle", "configure", "quotes"])(
    "on %s is rejected if it has an account number, because such a request has none",
    (operation) => {
      const parsed = FaultBody.safeParse({ kind: "unreachable", operation, accountNumber: ACCOUNT });
      expect(parsed.error?.issues).toMatchObject([
        { path: ["accountNumber"], message: expect.stringContaining(`a ${operation} request has no account number`) },
      ]);
    },
  );

  it("on settle takes a reference, and on a change an account number", () => {
    expect(FaultBody.safeParse({ kind: "unreachable", operation: "settle", reference: "r-1" }).success).toBe(true);
    expect(FaultBody.safeParse({ kind: "delay", operation: "deposit", accountNumber: ACCOUNT }).success).toBe(true);
    expect(FaultBody.safeParse({ kind: "delay", accountNumber: ACCOUNT }).success).toBe(true);
  });

  it("has an account number that is a string, and a delay of at most 10 minutes", () => {
    expect(FaultBody.safeParse({ kind: "delay", accountNumber: Number(ACCOUNT) }).success).toBe(false);
    expect(FaultBody.safeParse({ kind: "delay", delayMs: 600_000 }).success).toBe(true);
    expect(FaultBody.safeParse({ kind: "delay", delayMs: 600_001 }).success).toBe(false);
  });
});
