import { expect, it } from "vitest";

import { retryIfNotSent } from "./retry-if-not-sent.ts";

class NotSent extends Error {}
const isNotSent = (error: unknown): boolean => error instanceof NotSent;

it("retryIfNotSent retries all commands of a call that was not sent", async () => {
  const call = () => Promise.reject(new NotSent("not sent"));
  const retry = { kind: "retry", reason: "not sent" };
  expect(await retryIfNotSent(["one", "other"], isNotSent, call)).toEqual([retry, retry]);
});

it("retryIfNotSent returns the outcomes of a call that was sent, and throws all other errors", async () => {
  const outcome = { kind: "closed" } as const;
  expect(await retryIfNotSent(["one"], isNotSent, () => Promise.resolve([outcome]))).toEqual([outcome]);
  const unclear = () => Promise.reject(new Error("no answer"));
  await expect(retryIfNotSent(["one"], isNotSent, unclear)).rejects.toThrow("no answer");
});
