import { ApiError } from "@kapi/http";
import { expect, it } from "vitest";

import { PasswordsBusy } from "../domain/ports.ts";
import { hashPassword } from "./check-password.ts";

it("a new password is answered 429 with Retry-After while too many passwords wait to be hashed", async () => {
  const busy = { hash: () => Promise.reject(new PasswordsBusy("too many passwords wait to be hashed")) };
  const error = await hashPassword(busy, "a new password").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code: "RATE_LIMITED", headers: { "retry-after": "1" } });
});
