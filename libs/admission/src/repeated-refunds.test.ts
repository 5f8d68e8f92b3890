import { delay, uuidV7 } from "@kapi/kernel";
import { createLogger } from "@kapi/runtime";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import type { RefundRequest } from "./admission.ts";
import { CHARGE_TTL_MS } from "./redis/index.ts";
import { startRepeatedRefunds } from "./repeated-refunds.ts";

const REFUNDED = { credits: 1, remaining: 9 };
const ROUND_MS = 1_000;
/**
 * The longest time from the charge to the end of a streamed response: the 120 s of the gateway, and
 * the 5 s in which the response begins.
 */
const MAX_STREAMED_MS = 120_000 + 5_000;
const REDIS_TIMEOUT_MS = 600;
/** The time that running HTTP requests have at a stop: `DRAIN_TIMEOUT_MS` of `libs/http`. */
const STOPPED_WITHIN_MS = 8_000;
const MANY = 5_000;
const MAX_WAITING = 10_000;

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

it("each refund is retried every second until Redis accepts it, independently of other refunds", async () => {
  const { value: refunds, stop } = startRepeatedRefunds({ admission: { refund }, clock, logger });
  const [one, other] = [uuidV7(clock.nowMs()), uuidV7(clock.nowMs())];
  refunds.add(requestOf(one));
  refunds.add(requestOf(other));
  await vi.advanceTimersByTimeAsync(ROUND_MS);
  expect(refund).toHaveBeenCalledTimes(2);
  refund.mockImplementation(({ chargeId }) =>
    chargeId === one ? Promise.resolve(REFUNDED) : Promise.reject(new Error("no Redis")),
  );
  await vi.advanceTimersByTimeAsync(2 * ROUND_MS);
  expect(refund.mock.calls.map(([{ chargeId }]) => chargeId)).toEqual([one, other, one, other, other]);
  expect(error).not.toHaveBeenCalled();
  await stop();
});

it("a refund that fails is given up and logged while Redis still remembers its charge, however late its first attempt was", async () => {
  const { value: refunds, stop } = startRepeatedRefunds({ admission: { refund }, clock, logger });
  // The request took so long that Redis remembers its charge for only 20 s more.
  const chargeId = uuidV7(clock.nowMs() - CHARGE_TTL_MS + 20_000);
  refunds.add(requestOf(chargeId));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(error).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ chargeId }), expect.any(String));
  refund.mockClear();
  // Redis has forgotten this charge, so a refund would not change the wallet.
  refunds.add(requestOf(uuidV7(clock.nowMs() - CHARGE_TTL_MS)));
  await vi.advanceTimersByTimeAsync(2 * ROUND_MS);
  expect(error).toHaveBeenCalledTimes(2);
  expect(refund).not.toHaveBeenCalled();
  await stop();
});

it("a refund is tried even if the response to its request was streamed for as long as the gateway allows", async () => {
  const { value: refunds, stop } = startRepeatedRefunds({ admission: { refund }, clock, logger });
  refund.mockResolvedValue(REFUNDED);
  refunds.add(requestOf(uuidV7(clock.nowMs() - MAX_STREAMED_MS)));
  await vi.advanceTimersByTimeAsync(ROUND_MS);
  expect(refund).toHaveBeenCalledOnce();
  await stop();
});

it("a stop retries waiting refunds for a limited time, and logs each refund that failed or was not retried", async () => {
  const { value: refunds, stop } = startRepeatedRefunds({ admission: { refund }, clock, logger });
  for (let at = 0; at < MANY; at += 1) refunds.add(requestOf(uuidV7(clock.nowMs())));
  refund.mockImplementation(async () => {
    await delay(REDIS_TIMEOUT_MS);
    throw new Error("no Redis");
  });
  const begunAtMs = clock.nowMs();
  let stoppedAtMs = 0;
  const stopping = stop().then(() => (stoppedAtMs = clock.nowMs()));
  await vi.advanceTimersByTimeAsync(60_000);
  await stopping;
  expect(stoppedAtMs - begunAtMs).toBeLessThan(STOPPED_WITHIN_MS);
  expect(refund.mock.calls.length).toBeGreaterThan(0);
  expect(error).toHaveBeenCalledTimes(MANY);
});

it("a refund that is added during a stop is tried, and logged if it fails", async () => {
  const { value: refunds, stop } = startRepeatedRefunds({ admission: { refund }, clock, logger });
  refund.mockImplementation(async () => {
    await delay(REDIS_TIMEOUT_MS);
    throw new Error("no Redis");
  });
  refunds.add(requestOf(uuidV7(clock.nowMs())));
  const stopping = stop();
  await vi.advanceTimersByTimeAsync(100);
  refunds.add(requestOf(uuidV7(clock.nowMs())));
  await vi.advanceTimersByTimeAsync(STOPPED_WITHIN_MS);
  await stopping;
  expect(error).toHaveBeenCalledTimes(2);
});

it("at most 10,000 refunds wait, also while a round retries them; further refunds are given up", async () => {
  const { value: refunds, stop } = startRepeatedRefunds({ admission: { refund }, clock, logger });
  refund.mockImplementation(() => delay(REDIS_TIMEOUT_MS).then(() => Promise.reject(new Error("no Redis"))));
  for (let index = 0; index < MAX_WAITING; index += 1) refunds.add(requestOf(uuidV7(clock.nowMs())));
  await vi.advanceTimersByTimeAsync(ROUND_MS + REDIS_TIMEOUT_MS / 2);
  expect(refund).toHaveBeenCalled();
  for (let index = 0; index < MANY; index += 1) refunds.add(requestOf(uuidV7(clock.nowMs())));
  expect(error).toHaveBeenCalledTimes(MANY);
  refund.mockReset().mockResolvedValue(REFUNDED);
  const stopping = stop();
  await vi.advanceTimersByTimeAsync(STOPPED_WITHIN_MS);
  await stopping;
});
