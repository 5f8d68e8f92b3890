import type { Admission, Admitted } from "@kapi/admission";
import { DEFAULT_PRICES, type KeyEntry, OPERATIONS, type Prices } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { systemClock } from "@kapi/kernel";
import { beforeEach, expect, it, vi } from "vitest";

import { RequestCharge } from "./request-charge.ts";

const NO_CREDITS = new ApiError("INSUFFICIENT_CREDITS");
const ADMITTED: Admitted = { charged: 1, remaining: 9 } as Admitted;

const admit = vi.fn<Admission["admit"]>();
const read = vi.fn<() => Promise<string>>();
const refund = vi.fn<() => Promise<{ credits: number; remaining: number | null }>>();
const admission = { admit, refund } as unknown as Pick<Admission, "admit" | "refund">;

function chargeOf(key: KeyEntry): RequestCharge {
  const dependencies = { admission, prices: (): Prices => DEFAULT_PRICES, clock: systemClock };
  const contract = OPERATIONS.createWebhook;
  return new RequestCharge(dependencies, { key, operation: "createWebhook", contract, requestId: "r", address: null });
}

let key: KeyEntry;
beforeEach(() => {
  key = {} as KeyEntry;
  admit.mockReset().mockResolvedValue(ADMITTED);
  read.mockReset().mockResolvedValue("the command");
});

it("a read is charged and found at the same time", async () => {
  const answered = Promise.withResolvers<Admitted>();
  admit.mockReturnValue(answered.promise);
  const charge = chargeOf(key);
  const answer = charge.readWhileCharging(read);
  expect(read).toHaveBeenCalledOnce();
  answered.resolve(ADMITTED);
  expect(await answer).toBe("the command");
  expect(charge.admitted).toBe(ADMITTED);
});

it.each(["found", "failed"])("a caller who cannot pay is told so, whatever was %s meanwhile", async (outcome) => {
  admit.mockRejectedValue(NO_CREDITS);
  if (outcome === "failed") read.mockRejectedValue(new Error("no answer"));
  const charge = chargeOf(key);
  await expect(charge.readWhileCharging(read)).rejects.toBe(NO_CREDITS);
  expect(charge.admitted).toBeNull();
});

it("a read that fails after it was charged is known as charged, so that it is given back", async () => {
  read.mockRejectedValue(new Error("no answer"));
  const charge = chargeOf(key);
  await expect(charge.readWhileCharging(read)).rejects.toThrow("no answer");
  expect(charge.admitted).toBe(ADMITTED);
});

it("a key that was refused costs no further look until it is accepted again", async () => {
  admit.mockRejectedValue(NO_CREDITS);
  for (let time = 0; time < 3; time += 1) await expect(chargeOf(key).readWhileCharging(read)).rejects.toBe(NO_CREDITS);
  expect(read).toHaveBeenCalledTimes(1);
  await expect(chargeOf({} as KeyEntry).readWhileCharging(read)).rejects.toBe(NO_CREDITS);
  expect(read).toHaveBeenCalledTimes(2);

  admit.mockResolvedValue(ADMITTED);
  expect(await chargeOf(key).readWhileCharging(read)).toBe("the command");
  const answered = Promise.withResolvers<Admitted>();
  admit.mockReturnValue(answered.promise);
  const answer = chargeOf(key).readWhileCharging(read);
  expect(read).toHaveBeenCalledTimes(4);
  answered.resolve(ADMITTED);
  await answer;
});

const CLAIM = { commandId: "a", fingerprint: "f", message: "{}", credits: 5 };
const refundable = (charge: RequestCharge): unknown => [charge.isRefundable, charge.refundRequest().records];

it("nothing is given back of a request that was never admitted, whatever it would have claimed", async () => {
  admit.mockRejectedValue(NO_CREDITS);
  const charge = chargeOf(key);
  await expect(charge.reserve([CLAIM], [false])).rejects.toBe(NO_CREDITS);
  // Where Redis did not answer, the refund names the claim all the same.
  expect(refundable(charge)).toEqual([false, [{ commandId: "a", mayBePublished: false }]]);
});

it("a claim that was admitted is given back unless its command may be published, also where it is tried again", async () => {
  admit.mockResolvedValue({ charged: 0, remaining: 9 } as Admitted);
  const charge = chargeOf(key);
  await charge.reserve([CLAIM], [false]);
  expect(refundable(charge)).toEqual([true, [{ commandId: "a", mayBePublished: false }]]);
  charge.mayBePublished("a");
  await charge.reserve([CLAIM], [false]);
  expect(refundable(charge)).toEqual([true, [{ commandId: "a", mayBePublished: true }]]);
  charge.notPublished("a");
  expect(refundable(charge)).toEqual([true, [{ commandId: "a", mayBePublished: false }]]);
});

it("a change that its owner refuses costs the read price instead, under a charge of its own", async () => {
  refund.mockResolvedValue({ credits: 5, remaining: 10 });
  const finding = new ApiError("VALIDATION_FAILED");
  const charge = chargeOf(key);
  await charge.change();
  await expect(charge.refuseChange(finding)).rejects.toBe(finding);
  const [changed, read] = admit.mock.calls.map(([request]) => request);
  expect([changed?.price, read?.price]).toEqual([DEFAULT_PRICES[OPERATIONS.createWebhook.price], DEFAULT_PRICES.read]);
  expect(read?.chargeId).not.toBe(changed?.chargeId);
  expect(charge.admitted).toBe(ADMITTED);
  expect(charge.refundRequest().chargeId).toBe(changed?.chargeId);
});

it("a change that its owner refuses with 429 costs nothing", async () => {
  refund.mockResolvedValue({ credits: 5, remaining: 10 });
  const finding = new ApiError("TOO_MANY_CONCURRENT_REQUESTS");
  const charge = chargeOf(key);
  await charge.change();
  await expect(charge.refuseChange(finding)).rejects.toBe(finding);
  expect(charge.admitted).toEqual({ charged: 0, remaining: 10 });
  expect(admit).toHaveBeenCalledOnce();
});
