/** The client against a real kapi, by the same tests as the kapi in memory. */
import { Kapi } from "@kapi/client";
import { afterAll, beforeAll, describe } from "vitest";

import { itBehaves, type Subject } from "../../libs/client/test/behaviours.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

let system: RunningSystem;
let subject: Subject;

beforeAll(async () => {
  system = await startSystem();
  const { managementKey: key, baseUrl, wsBase: liveUrl, serverId } = system.demo;
  const control = new TradingControl(system.demo);
  const trade = async (accountNumber: string): Promise<void> =>
    control.close(accountNumber, await control.buy(accountNumber, "EURUSD", 0.01));
  subject = {
    kapi: new Kapi({ key, baseUrl, liveUrl }),
    serverId,
    trade,
    hold: (accountNumber) => control.inject({ kind: "unreachable", accountNumber, count: null }),
    release: () => control.clearFaults(),
    moveEquity: trade,
  };
});

afterAll(() => system.stop());

describe("the client, against a real kapi", () => {
  itBehaves(() => subject);
});
