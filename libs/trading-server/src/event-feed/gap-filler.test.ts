import type { TradingEvent } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import type { Gap } from "./account-feed.ts";
import { startGapFiller } from "./gap-filler.ts";

const LONG_FILLS = ["1001", "1002", "1003", "1004"];
const POLL_MS = 1_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("the gap filler fills a due gap while it reads the long histories of other accounts", async () => {
  const booked = new Map(LONG_FILLS.map((accountNumber) => [accountNumber, 0]));
  const gapOf = (accountNumber: string): Gap => {
    const bookedSequence = booked.get(accountNumber) ?? 0;
    return { serverId: "server", accountNumber, neededSequence: 1_000_000, bookedSequence, attempts: 0 };
  };
  const asked = new Set<string>();
  const { stop } = startGapFiller({
    // The gaps of running fills stay due, and became due first.
    gaps: {
      due: async (limit) => [...booked.keys()].slice(0, limit).map(gapOf),
      count: async () => booked.size,
      find: async ({ accountNumber }) => gapOf(accountNumber),
      close: async () => undefined,
      postpone: async () => undefined,
    },
    history: {
      since: async ({ accountNumber }, sequence): Promise<readonly TradingEvent[]> => {
        asked.add(accountNumber);
        await new Promise((resolve) => void setTimeout(resolve, 10));
        booked.set(accountNumber, sequence + 1);
        return [];
      },
    },
    queue: { book: async () => "booked", forget: () => undefined },
    logger: createLogger({ service: "test", level: "silent" }),
  });
  await vi.advanceTimersByTimeAsync(1.5 * POLL_MS);
  expect(asked).toEqual(new Set(LONG_FILLS));
  booked.set("1005", 0);
  await vi.advanceTimersByTimeAsync(3 * POLL_MS);
  expect(asked).toContain("1005");
  const stopping = stop();
  await vi.advanceTimersByTimeAsync(POLL_MS);
  await stopping;
});
