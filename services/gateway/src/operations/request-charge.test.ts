import { type Admission, type Admitted, type BilledCaller, ChargeUnknown, type RepeatedRefunds } from "@kapi/admission";
import { DEFAULT_PRICES, OPERATIONS, type Prices } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { systemClock } from "@kapi/kernel";
import { beforeEach, expect, it, vi } from "vitest";

import { RequestCharge } from "./request-charge.ts";

const NO_CREDITS = new ApiError("INSUFFICIENT_CREDITS");
const ADMITTED: Admitted = { charged: 1, remaining: 9 } as Admitted;

const admit = vi.fn<Admission["admit"]>();
const read = vi.fn<() => Promise<string>>();
const refund = vi.fn<() => Promise<{ credits: number; remaining: number | null }>>();
const addRefund = vi.fn<RepeatedRefunds["add"]>();
const admission = { admit, refund } as unknown as Pick<Admission, "admit" | "refund">;

function chargeOf(caller: BilledCaller): RequestCharge {
  const refunds = { add: addRefund };
  const dependencies = { admission, refunds, prices: (): Prices => DEFAULT_PRICES, clock: systemClock };
  const contract = OPERATIONS.createWebhook;
  return new RequestCharge(dependencies, {
    caller,
    operation: "createWebhook",
    contract,
    requestId: "r",
    address: null,
  });
}

let caller: BilledCaller;
beforeEach(() => {
  caller = {} as BilledCaller;
  admit.mockReset().mockResolvedValue(ADMITTED);
  addRefund.mockReset();
  read.mockReset().mockResolvedValue("the command");
});

it("readWhileCharging charges and reads in parallel", async () => {
  const answered = Promise.withResolvers<Admitted>();
  admit.mockReturnValue(answered.promise);
  const charge = chargeOf(caller);
  const answer = charge.readWhileCharging(read);
  expect(read).toHaveBeenCalledOnce();
  answered.resolve(ADMITTED);
  expect(await answer).toBe("the command");
  expect(charge.admitted).toBe(ADMITTED);
});

it.each(["succeeded", "failed"])("the error of the charge wins over a read that %s", async (outcome) => {
  admit.mockRejectedValue(NO_CREDITS);
  if (outcome === "failed") read.mockRejectedValue(new Error("no answer"));
  const charge = chargeOf(caller);
  await expect(charge.readWhileCharging(read)).rejects.toBe(NO_CREDITS);
  expect(charge.admitted).toBeNull();
});

it("if a read fails after its charge, the charge is refundable", async () => {
  read.mockRejectedValue(new Error("no answer"));
  const charge = chargeOf(caller);
  await expect(charge.readWhileCharging(read)).rejects.toThrow("no answer");
  expect(charge.admitted).toBe(ADMITTED);
  expect(charge.isRefundable).toBe(true);
});

it("after a rejected charge, each read of the same caller starts only after the read's charge, until a charge is accepted again", async () => {
  admit.mockRejectedValue(NO_CREDITS);
  for (let time = 0; time < 3; time += 1)
    await expect(chargeOf(caller).readWhileCharging(read)).rejects.toBe(NO_CREDITS);
  expect(read).toHaveBeenCalledTimes(1);
  await expect(chargeOf({} as BilledCaller).readWhileCharging(read)).rejects.toBe(NO_CREDITS);
  expect(read).toHaveBeenCalledTimes(2);

  admit.mockResolvedValue(ADMITTED);
  expect(await chargeOf(caller).readWhileCharging(read)).toBe("the command");
  const answered = Promise.withResolvers<Admitted>();
  admit.mockReturnValue(answered.promise);
  const answer = chargeOf(caller).readWhileCharging(read);
  expect(read).toHaveBeenCalledTimes(4);
  answered.resolve(ADMITTED);
  await answer;
});

const RECORD = { commandId: "a", fingerprint: "f", message: "{}", credits: 5 };
const refundable = (charge: RequestCharge): unknown => [charge.isRefundable, charge.refundRequest().records];

it("a request that was never admitted needs no refund, even if it has idempotency records", async () => {
  admit.mockRejectedValue(NO_CREDITS);
  const charge = chargeOf(caller);
  await expect(charge.reserve([RECORD], [false])).rejects.toBe(NO_CREDITS);
  // `refundRequest` names the record anyway: the record may exist after a call that Redis did not
  // answer.
  expect(refundable(charge)).toEqual([false, [{ commandId: "a", mayBePublished: false }]]);
});

it("a refund releases an idempotency record, except if its message may be in the log; this exception also holds after a second admission", async () => {
  admit.mockResolvedValue({ charged: 0, remaining: 9 } as Admitted);
  const charge = chargeOf(caller);
  await charge.reserve([RECORD], [false]);
  expect(refundable(charge)).toEqual([true, [{ commandId: "a", mayBePublished: false }]]);
  charge.mayBePublished("a");
  await charge.reserve([RECORD], [false]);
  expect(refundable(charge)).toEqual([true, [{ commandId: "a", mayBePublished: true }]]);
  charge.notPublished("a");
  expect(refundable(charge)).toEqual([true, [{ commandId: "a", mayBePublished: false }]]);
});

it("a change that its owner rejects costs the read price instead, under another charge id", async () => {
  refund.mockResolvedValue({ credits: 5, remaining: 10 });
  const error = new ApiError("VALIDATION_FAILED");
  const charge = chargeOf(caller);
  await charge.change();
  await expect(charge.rejectChange(error)).rejects.toBe(error);
  const [changed, read] = admit.mock.calls.map(([request]) => request);
  expect([changed?.price, read?.price]).toEqual([DEFAULT_PRICES[OPERATIONS.createWebhook.price], DEFAULT_PRICES.read]);
  expect(read?.chargeId).not.toBe(changed?.chargeId);
  expect(charge.admitted).toBe(ADMITTED);
  expect(charge.refundRequest().chargeId).toBe(changed?.chargeId);
});

it("a change that its owner rejects with 429 costs nothing", async () => {
  refund.mockResolvedValue({ credits: 5, remaining: 10 });
  const error = new ApiError("TOO_MANY_CONCURRENT_REQUESTS");
  const charge = chargeOf(caller);
  await charge.change();
  await expect(charge.rejectChange(error)).rejects.toBe(error);
  expect(charge.admitted).toEqual({ charged: 0, remaining: 10 });
  expect(admit).toHaveBeenCalledOnce();
});

it.each([
  ["may have been charged", new ChargeUnknown(new Error("no reply")), true],
  ["was certainly not charged", NO_CREDITS, false],
])(
  "a rejected change whose read price %s shows no charge; only an uncertain charge is refunded",
  async (_what, failure, isUncertain) => {
    refund.mockResolvedValue({ credits: 5, remaining: 10 });
    const error = new ApiError("VALIDATION_FAILED");
    const charge = chargeOf(caller);
    await charge.change();
    admit.mockRejectedValue(failure);
    await expect(charge.rejectChange(error)).rejects.toBe(error);
    expect(charge.admitted).toEqual({ charged: 0, remaining: 10 });
    const readCharge = admit.mock.calls[1]?.[0];
    const expected = { caller, operation: "createWebhook", requestId: "r", chargeId: readCharge?.chargeId };
    expect(addRefund.mock.calls).toEqual(isUncertain ? [[expected]] : []);
  },
);
