import { ERRORS } from "@kapi/contracts";
import { describe, expect, it } from "vitest";
import { z } from "zod";

import { ApiError } from "./api-error.ts";
import { MAX_ISSUES, parse } from "./parse.ts";

const Deposit = z.object({ amount: z.number().positive(), requestId: z.string().min(1).max(100) });

function parseErrorOf(schema: z.ZodType, value: unknown, path?: (string | number)[]): ApiError {
  try {
    parse(schema, value, path);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("the value was accepted");
}

describe("parse", () => {
  it("returns the value without unknown fields", () => {
    expect(parse(Deposit, { amount: 1.5, requestId: "r", extra: true })).toEqual({ amount: 1.5, requestId: "r" });
  });

  it("throws a 400 with an issue for each violation: path, code and message", () => {
    const error = parseErrorOf(Deposit, { amount: -1 }, ["accounts", 3]);
    expect(error.status).toBe(400);
    expect(error.code).toBe("VALIDATION_FAILED");
    expect(error.body("request-1")).toEqual({
      error: ERRORS.VALIDATION_FAILED.text,
      code: "VALIDATION_FAILED",
      requestId: "request-1",
      issues: [
        { path: ["accounts", 3, "amount"], code: "too_small", message: expect.any(String) },
        { path: ["accounts", 3, "requestId"], code: "invalid_type", message: expect.any(String) },
      ],
    });
  });

  it("never includes the caller's value, which may be a password", () => {
    const Secret = z.object({ password: z.string().max(8), kind: z.enum(["a"]) });
    const error = parseErrorOf(Secret, { password: "correct horse battery", kind: "battery staple" });
    expect(JSON.stringify(error.body("request-1"))).not.toMatch(/horse|staple/);
  });

  it("lists at most MAX_ISSUES issues", () => {
    const error = parseErrorOf(z.array(z.number()), Array(100_000).fill("x"));
    expect(error.issues).toHaveLength(MAX_ISSUES);
  });

  it("throws the error of a body that could not be read", () => {
    expect(parseErrorOf(Deposit, new ApiError("INVALID_JSON")).code).toBe("INVALID_JSON");
  });
});
