import { ERRORS } from "@kapi/contracts";
import { describe, expect, it } from "vitest";
import { z } from "zod";

import { ApiError } from "./api-error.ts";
import { MAX_ISSUES, parse } from "./parse.ts";

const Deposit = z.object({ amount: z.number().positive(), requestId: z.string().min(1).max(100) });

function refusalOf(schema: z.ZodType, value: unknown, path?: (string | number)[]): ApiError {
  try {
    parse(schema, value, path);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("the value was accepted");
}

describe("checking what a caller gave", () => {
  it("returns the value without the fields that the schema does not know", () => {
    expect(parse(Deposit, { amount: 1.5, requestId: "r", extra: true })).toEqual({ amount: 1.5, requestId: "r" });
  });

  it("refuses with 400 and an issue for each violation, with its place, kind and a sentence", () => {
    const refusal = refusalOf(Deposit, { amount: -1 }, ["accounts", 3]);
    expect(refusal.status).toBe(400);
    expect(refusal.code).toBe("VALIDATION_FAILED");
    expect(refusal.body()).toEqual({
      error: ERRORS.VALIDATION_FAILED.text,
      issues: [
        { path: ["accounts", 3, "amount"], code: "too_small", message: expect.any(String) },
        { path: ["accounts", 3, "requestId"], code: "invalid_type", message: expect.any(String) },
      ],
    });
  });

  it("never repeats the caller's value, which may be a password", () => {
    const Secret = z.object({ password: z.string().max(8), kind: z.enum(["a"]) });
    const refusal = refusalOf(Secret, { password: "correct horse battery", kind: "battery staple" });
    expect(JSON.stringify(refusal.body())).not.toMatch(/horse|staple/);
  });

  it("lists no more issues than its limit, however many mistakes there are", () => {
    const refusal = refusalOf(z.array(z.number()), Array(100_000).fill("x"));
    expect(refusal.issues).toHaveLength(MAX_ISSUES);
  });

  it("raises the error of a body that could not be read", () => {
    expect(refusalOf(Deposit, new ApiError("INVALID_JSON")).code).toBe("INVALID_JSON");
  });
});
