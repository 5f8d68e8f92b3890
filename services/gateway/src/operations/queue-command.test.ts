import { ApiError } from "@kapi/http";
import { expect, it } from "vitest";

import { firstFinding } from "./queue-command.ts";

const BAD = new ApiError("LEVERAGE_NOT_SUPPORTED");
const MISSING = new ApiError("ACCOUNT_NOT_FOUND");
const CONFLICT = new ApiError("SERVER_DISABLED");

it("of what stands against a request 400 is told before 404 before 409, and of the same status the first", () => {
  expect(firstFinding([CONFLICT, null, MISSING, BAD])).toBe(BAD);
  expect(firstFinding([CONFLICT, MISSING, null])).toBe(MISSING);
  expect(firstFinding([CONFLICT, new ApiError("ACCOUNT_QUOTA_REACHED")])).toBe(CONFLICT);
  expect(firstFinding([null])).toBeNull();
});
