import type { TradingEvent, AccountRef } from "@kapi/contracts";
import { type Deferred, deferred, Urgency } from "@kapi/kernel";
import { eventEnvelope } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import { type BookableChange, type ChangeBookingDependencies, createChangeBooking } from "./book-changes.ts";

const SERVER = "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02";

/**
 * The booked history of one server in memory. `asked` has the accounts whose events were requested
 * from the trading server's history.
 */
class History implements ChangeBookingDependencies {
  readonly booked = new Map<string, number>();
  readonly events: string[] = [];
  readonly asked: string[] = [];
  readonly urgency = new Urgency();
  /** If set, every read of the trading server's history waits for it. */
  hanging: Deferred<void> | null = null;
  /** Called at each read of the booked sequences. */
  onLook: () => void = () => undefined;

  readonly reader = {
    bookedSequences: async (accounts: readonly AccountRef[]) => {
      this.onLook();
      return accounts.map(({ accountNumber }) => this.booked.get(accountNumber) ?? null);
    },
  };
  readonly feed = {
    book: async ({ accountNumber, sequence }: TradingEvent) => {
      this.events.push(`${accountNumber}/${sequence}`);
      this.booked.set(accountNumber, sequence);
    },
    bookNextPage: async ({ accountNumber }: AccountRef) => {
      this.asked.push(accountNumber);
      await this.hanging?.promise;
    },
  };
}

/** Changes that made event 5 of each account. */
function changesOf(...accountNumbers: readonly string[]): BookableChange[] {
  return accountNumbers.map((accountNumber) => ({
    account: { serverId: SERVER, accountNumber },
    event: { ...eventEnvelope({ serverId: SERVER, accountNumber, sequence: 5 }), type: "account.deleted" },
    traceparent: undefined,
  }));
}

describe("the events that a trading server returns for changes", () => {
  it("are booked at once if they are next, and skipped if they are booked or their account is unknown", async () => {
    const history = new History();
    history.booked.set("1", 4).set("2", 5);
    await createChangeBooking(history)(SERVER, changesOf("1", "2", "deleted"));
    expect(history.events).toEqual(["1/5"]);
    expect(history.asked).toEqual([]);
  });

  it("are booked after the earlier events of the topic, which is read without a pause; the trading server's history is not read", async () => {
    const history = new History();
    const pause = history.urgency.pause(60_000);
    history.booked.set("1", 3);
    let looks = 0;
    history.onLook = () => {
      looks += 1;
      if (looks === 3) history.booked.set("1", 4);
    };
    await createChangeBooking(history)(SERVER, changesOf("1"));
    expect(history.events).toEqual(["1/5"]);
    expect(history.asked).toEqual([]);
    await pause;
  });

  it("are read from the trading server's history if the topic does not deliver the earlier events", async () => {
    const history = new History();
    history.booked.set("1", 3).set("2", 0);
    await createChangeBooking(history)(SERVER, changesOf("1", "2"));
    expect(history.asked).toEqual(["1", "2"]);
  });

  it("do not block a batch if reads of the trading server's history hang; at most 8 such reads run for each server", async () => {
    const history = new History();
    history.hanging = deferred();
    const accounts = Array.from({ length: 20 }, (_, index) => String(index));
    for (const account of accounts) history.booked.set(account, 1);
    const book = createChangeBooking(history);
    await book(SERVER, changesOf(...accounts));
    await book(SERVER, changesOf(...accounts.toReversed()));
    expect(history.asked).toEqual(accounts.slice(0, 8));
    await book("another", changesOf("1"));
    expect(history.asked).toHaveLength(9);
    history.hanging.resolve();
    await history.hanging.promise;
    await book(SERVER, changesOf("19"));
    expect(history.asked.at(-1)).toBe("19");
  });
});
