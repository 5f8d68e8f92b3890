import { ApiError } from "@kapi/http";
import { expect, it } from "vitest";

import type { Engine } from "./engine.ts";
import type { TradingServer } from "./server.ts";
import { setPrice } from "./trade.ts";

it("a new price is rejected and not set while too many rows wait for the database", async () => {
  const engine = {
    committer: {
      rejectWhenFull: () => {
        throw new ApiError("DEPENDENCY_UNAVAILABLE", { status: 503 });
      },
      storeServer: () => undefined,
    },
  } as unknown as Engine;
  const prices: string[] = [];
  const server = { market: { setQuote: (symbol: string) => prices.push(symbol) } } as unknown as TradingServer;
  const price = { bid: 1.1, ask: 1.2, held: true };
  await expect(setPrice(engine, server, "EURUSD", price)).rejects.toMatchObject({ status: 503 });
  expect(prices).toEqual([]);
});
