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

describe("builders", () => {
  it.each([
    ["a command message", CommandMessage, commandMessage()],
    ["a changed balance", TradingEvent, balanceChanged()],
    ["a created account", TradingEvent, accountCreated({ initialBalanceMinor: 500 })],
    ["a valuation", Valuation, valuation({ marginMinor: 1_000 })],
    ["a key", DirectoryEntry, keyEntry().entry],
    ["a server", DirectoryEntry, serverEntry()],
    ["the prices", DirectoryEntry, pricesEntry()],
  ])("make %s that its schema accepts", (_what, schema, value) => {
    expect(schema.parse(value)).toEqual(value);
  });

  it("keep the given fields, and derive the fields that depend on them", () => {
    const event = balanceChanged({ sequence: 7, balanceMinor: 1 });
    const same = balanceChanged({ serverId: event.serverId, accountNumber: event.accountNumber, sequence: 7 });
    expect(event).toMatchObject({ sequence: 7, balanceMinor: 1 });
    expect(same.eventId).toBe(event.eventId);
    expect(valuation({ balanceMinor: 100, equityMinor: 90 }).unrealizedProfitMinor).toBe(-10);
  });
});
