import { describe } from "vitest";

import { Kapi } from "../src/index.ts";
import { createFakeKapi } from "../src/testing/index.ts";
import { itBehaves } from "./behaviours.ts";
import type { Subject } from "./subject.ts";

describe("the kapi in memory", () => {
  const fake = createFakeKapi();
  const subject: Subject = {
    kapi: new Kapi(fake.options),
    serverId: fake.serverId,
    trade: async (accountNumber) => {
      fake.closePosition(accountNumber, fake.openPosition(accountNumber), { profit: "1.50" });
    },
    openPosition: async (accountNumber) => fake.openPosition(accountNumber),
    placeOrder: async (accountNumber) => {
      fake.placeOrder(accountNumber);
    },
    breach: async (accountNumber, ruleId) => {
      fake.breachRule(accountNumber, ruleId);
    },
    hold: async () => fake.holdCommands(),
    release: async () => fake.releaseCommands(),
    moveEquity: async (accountNumber) => fake.setEquity(accountNumber, "999.5"),
  };
  itBehaves(() => subject);
});
