/** The client against a real kapi, with the same tests as the fake. */
import { Kapi } from "@kapi/client";
import { afterAll, beforeAll, describe } from "vitest";

import { itBehaves } from "../../libs/client/test/behaviours.ts";
import type { Subject } from "../../libs/client/test/subject.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

/** The price of an order that never executes. */
const FAR_PRICE = 0.5;

let system: RunningSystem;
let subject: Subject;

beforeAll(async () => {
  system = await startSystem();
  const { managementKey: key, baseUrl, wsBase: liveUrl, serverId } = system.demo;
  const control = new TradingControl(system.demo);
  const trade = async (accountNumber: string): Promise<void> =>
    control.close(accountNumber, await control.buy(accountNumber, "EURUSD", 0.01));
  const openPosition = (accountNumber: string): Promise<string> => control.buy(accountNumber, "EURUSD", 0.01);
  subject = {
    kapi: new Kapi({ key, baseUrl, liveUrl }),
    serverId,
    trade,
    openPosition,
    placeOrder: async (accountNumber) => {
      const order = { symbol: "EURUSD", side: "buy", orderType: "limit", volume: 0.1, price: FAR_PRICE };
      await control.order(accountNumber, order);
      if ((await control.pendingOrders(accountNumber)).length === 0) throw new Error("the order was refused");
    },
    // Commission and spread of this order cause a loss above the limit of the rule. A rejection of
    // the order is ignored: an open position may have breached the rule before, and the action of
    // that breach may forbid new orders.
    breach: async (accountNumber) => {
      await control.order(accountNumber, { symbol: "EURUSD", side: "buy", volume: 0.1 });
    },
    hold: (accountNumber) => control.inject({ kind: "unreachable", accountNumber, count: null }),
    release: () => control.clearFaults(),
    moveEquity: trade,
  };
});

afterAll(() => system.stop());

describe("the client, against a real kapi", () => {
  itBehaves(() => subject);
});
