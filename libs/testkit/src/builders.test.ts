import { CommandMessage, DirectoryEntry, TradingEvent, Valuation } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import {
  accountCreated,
  balanceChanged,
  commandMessage,
  keyEntry,
  pricesEntry,
  serverEntry,
  valuation,
} from "./builders.ts";

describe("what the builders make is valid on the wire", () => {
  it.each([
    ["a command message", CommandMessage, commandMessage()],
    ["a changed balance", TradingEvent, balanceChanged()],
    ["a created account", TradingEvent, accountCreated({ initialBalanceMinor: 500 })],
    ["a valuation", Valuation, valuation({ marginMinor: 1_000 })],
    ["a key", DirectoryEntry, keyEntry().entry],
    ["a server", DirectoryEntry, serverEntry()],
    ["the prices", DirectoryEntry, pricesEntry()],
  ])("%s", (_what, schema, value) => {
    expect(schema.parse(value)).toEqual(value);
  });

  it("fields given by the test are kept, and what follows from them follows", () => {
    const event = balanceChanged({ sequence: 7, balanceMinor: 1 });
    const same = balanceChanged({ serverId: event.serverId, accountNumber: event.accountNumber, sequence: 7 });
    expect(same.eventId).toBe(event.eventId);
    expect(valuation({ balanceMinor: 100, equityMinor: 90 }).unrealizedProfitMinor).toBe(-10);
  });
});
