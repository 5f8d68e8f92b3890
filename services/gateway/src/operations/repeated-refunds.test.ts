import type { RefundRequest } from "@kapi/admission";
import { createLogger } from "@kapi/runtime";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { startRepeatedRefunds } from "./repeated-refunds.ts";

const REFUNDED = { credits: 1, remaining: 9 };
const ROUND_MS = 1_000;
const GIVEN_UP_AFTER_MS = 120_000;

const refund = vi.fn<(request: RefundRequest) => Promise<typeof REFUNDED>>();
const logger = createLogger({ service: "test", level: "silent" });
const error = vi.spyOn(logger, "error");
const clock = { nowMs: () => Date.now() };

beforeEach(() => {
  vi.useFakeTimers();
  refund.mockReset().mockRejectedValue(new Error("no Redis"));
  error.mockClear();
});
afterEach(() => vi.useRealTimers());

function requestOf(chargeId: string): RefundRequest {
  return { chargeId, operation: "getCommand", requestId: "r" } as RefundRequest;
}

it("a refund is tried each second until it is taken, one that fails beside others", async () => {
  const { value: refunds, stop } = startRepeatedRefunds({ admission: { refund }, clock, logger });
  refunds.add(requestOf("one"));
  refunds.add(requestOf("other"));
  await vi.advanceTimersByTimeAsync(ROUND_MS);
  expect(refund).toHaveBeenCalledTimes(2);
  refund.mockImplementation(({ chargeId }) =>
    chargeId === "one" ? Promise.resolve(REFUNDED) : Promise.reject(new Error("no Redis")),
  );
  await vi.advanceTimersByTimeAsync(2 * ROUND_MS);
  expect(refund.mock.calls.map(([{ chargeId }]) => chargeId)).toEqual(["one", "other", "one", "other", "other"]);
  expect(error).not.toHaveBeenCalled();
  await stop();
});

it("a refund that Redis never takes is given up and logged with its charge, also at the stop", async () => {
  const { value: refunds, stop } = startRepeatedRefunds({ admission: { refund }, clock, logger });
  refunds.add(requestOf("late"));
  await vi.advanceTimersByTimeAsync(GIVEN_UP_AFTER_MS);
  expect(error).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ chargeId: "late" }), expect.any(String));
  refunds.add(requestOf("at the stop"));
  await stop();
  expect(error).toHaveBeenCalledTimes(2);
  expect(refund).toHaveBeenLastCalledWith(expect.objectContaining({ chargeId: "at the stop" }));
});
