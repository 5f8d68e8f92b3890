import { expect, it } from "vitest";

import { BehindTradingServer } from "../domain/errors.ts";
import { catchUp } from "./catch-up.ts";

const ACCOUNT = { serverId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02", accountNumber: "10000001" };

/** Catches up with a trading server that answers that the account never existed. */
function catchUpUnknown(lastSequence: number): Promise<void> {
  const reader = { bookedSoFar: async () => ({ lastSequence, transactionCount: 0 }) as never };
  const bookNextPage = (): never => {
    throw new Error("not expected");
  };
  return catchUp({ client: { eventSequence: async () => null }, reader, bookNextPage }, ACCOUNT);
}

it("a fresh read fails if the trading server does not know an account that has booked events", async () => {
  await expect(catchUpUnknown(3)).rejects.toThrow(BehindTradingServer);
  await expect(catchUpUnknown(0)).resolves.toBeUndefined();
});

it("a fresh read of a deleted account does not need the trading server", async () => {
  const reader = { bookedSoFar: async () => ({ standing: "deleted", lastSequence: 3 }) as const };
  const unexpected = (): never => {
    throw new Error("not expected");
  };
  const options = { client: { eventSequence: unexpected }, reader, bookNextPage: unexpected };
  await expect(catchUp(options, ACCOUNT)).resolves.toBeUndefined();
});

it("a fresh read of an account that is created during the read succeeds, and has nothing to book", async () => {
  let booked = 0;
  const eventSequence = async (): Promise<null> => {
    booked = 1;
    return null;
  };
  const reader = { bookedSoFar: async () => ({ lastSequence: booked }) as never };
  const bookNextPage = (): never => {
    throw new Error("not expected");
  };
  await expect(catchUp({ client: { eventSequence }, reader, bookNextPage }, ACCOUNT)).resolves.toBeUndefined();
});
