import type { Admitted } from "@kapi/admission";
import type { KeyEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { beforeEach, expect, it, vi } from "vitest";

import type { Call } from "./call.ts";
import { chargeBeside, type ChargeNeeds } from "./charge-read.ts";

const NO_CREDITS = new ApiError("INSUFFICIENT_CREDITS");
const ADMITTED: Admitted = { charged: 1, remaining: 9 } as Admitted;

const admit = vi.fn<() => Promise<Admitted>>();
const read = vi.fn<() => Promise<string>>();
const needs = { admission: { admit }, directory: { prices: () => ({ read: 1 }) } } as unknown as ChargeNeeds;

function callOf(key: KeyEntry): Call {
  return { key, operation: "getCommand", requestId: "r", chargeId: "c", admitted: null } as unknown as Call;
}

let key: KeyEntry;
beforeEach(() => {
  key = {} as KeyEntry;
  admit.mockReset().mockResolvedValue(ADMITTED);
  read.mockReset().mockResolvedValue("the command");
});

it("a read is charged and found at the same time", async () => {
  const charge = Promise.withResolvers<Admitted>();
  admit.mockReturnValue(charge.promise);
  const call = callOf(key);
  const answer = chargeBeside(needs, call, read);
  expect(read).toHaveBeenCalledOnce();
  charge.resolve(ADMITTED);
  expect(await answer).toBe("the command");
  expect(call.admitted).toBe(ADMITTED);
});

it.each(["found", "failed"])("a caller who cannot pay is told so, whatever was %s meanwhile", async (outcome) => {
  admit.mockRejectedValue(NO_CREDITS);
  if (outcome === "failed") read.mockRejectedValue(new Error("no answer"));
  const call = callOf(key);
  await expect(chargeBeside(needs, call, read)).rejects.toBe(NO_CREDITS);
  expect(call.admitted).toBeNull();
});

it("a read that fails after it was charged is known as charged, so that it is given back", async () => {
  read.mockRejectedValue(new Error("no answer"));
  const call = callOf(key);
  await expect(chargeBeside(needs, call, read)).rejects.toThrow("no answer");
  expect(call.admitted).toBe(ADMITTED);
});

it("a key that was refused costs no further look until it is accepted again", async () => {
  admit.mockRejectedValue(NO_CREDITS);
  for (let time = 0; time < 3; time += 1) await expect(chargeBeside(needs, callOf(key), read)).rejects.toBe(NO_CREDITS);
  expect(read).toHaveBeenCalledTimes(1);
  await expect(chargeBeside(needs, callOf({} as KeyEntry), read)).rejects.toBe(NO_CREDITS);
  expect(read).toHaveBeenCalledTimes(2);

  admit.mockResolvedValue(ADMITTED);
  expect(await chargeBeside(needs, callOf(key), read)).toBe("the command");
  const charge = Promise.withResolvers<Admitted>();
  admit.mockReturnValue(charge.promise);
  const answer = chargeBeside(needs, callOf(key), read);
  expect(read).toHaveBeenCalledTimes(4);
  charge.resolve(ADMITTED);
  await answer;
});
