import { ApiError } from "@kapi/http";
import type { RedisConnection } from "@kapi/redis";
import { createLogger } from "@kapi/runtime";
import { expect, it, vi } from "vitest";

import { ChargeUnknown } from "./admission.ts";
import { createAvailableCredits } from "./available-credits.ts";

const WALLET = ["WALLET", ["id", "7", "0", "0", "7", "0", "0", "0"]];

it.each([
  ["after an admission that Redis did not answer, Redis is not asked", new ChargeUnknown(new Error("no reply")), null],
  ["after a revoked key, Redis is not asked", new ApiError("AUTHENTICATION_REQUIRED"), null],
  ["after another error, Redis is asked", new ApiError("INSUFFICIENT_CREDITS"), 7],
])("%s for the available credits", async (_what, error, credits) => {
  const call = vi.fn<RedisConnection["call"]>().mockResolvedValue(WALLET);
  const logger = createLogger({ service: "test", level: "silent" });
  const available = createAvailableCredits({ call } as unknown as RedisConnection, logger);
  expect(await available("0b0f6f0e-7d0a-4d3e-9d55-0f2f3f7d6a01", error)).toBe(credits);
  expect(call).toHaveBeenCalledTimes(credits === null ? 0 : 1);
});
