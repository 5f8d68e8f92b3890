import { DependencyError, tooManyConcurrentRequests } from "@kapi/http";
import { describe, expect, it } from "vitest";

import { catchUp } from "./catch-up.ts";

const ACCOUNT = { serverId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02", accountNumber: "10000001" };

/** Catches up with a trading server whose calls fail with `error`. */
function catchUpFailing(error: Error): Promise<boolean> {
  const unused = (): never => {
    throw new Error("not expected");
  };
  const lastSequence = async (): Promise<never> => {
    throw error;
  };
  const feed = { lastSequence, book: unused, bookNextPage: unused };
  return catchUp({ reader: { bookedSequence: async () => 1 }, feed }, ACCOUNT);
}

describe("a fresh read of an account's history", () => {
  it("above the organization's share of calls to the trading server is 429 with Retry-After", async () => {
    const error = { code: "TOO_MANY_CONCURRENT_REQUESTS", status: 429, headers: { "retry-after": "1" } };
    await expect(catchUpFailing(tooManyConcurrentRequests())).rejects.toMatchObject(error);
  });

  it("is unavailable if the trading server answers that an account with booked events never existed", async () => {
    const unused = (): never => {
      throw new Error("not expected");
    };
    const feed = { lastSequence: async () => 0, book: unused, bookNextPage: unused };
    const caughtUp = (booked: number) => catchUp({ reader: { bookedSequence: async () => booked }, feed }, ACCOUNT);
    await expect(caughtUp(3)).rejects.toThrow(DependencyError);
    expect(await caughtUp(0)).toBe(true);
  });

  it("is unavailable without a clear answer of the trading server", async () => {
    await expect(catchUpFailing(new Error("no answer"))).rejects.toThrow(DependencyError);
  });
});
