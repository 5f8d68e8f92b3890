import { describe, expect, it } from "vitest";

import { compareBalances } from "./reconciliation.ts";

describe("ledger and trading server", () => {
  it.each([
    [
      "agree at the same sequence",
      { lastSequence: 7, balanceMinor: 500 },
      { sequence: 7, balanceMinor: 500 },
      "agrees",
    ],
    ["differ by a cent", { lastSequence: 7, balanceMinor: 501 }, { sequence: 7, balanceMinor: 500 }, "differs"],
    ["agree below zero", { lastSequence: 7, balanceMinor: -3 }, { sequence: 7, balanceMinor: -3 }, "agrees"],
    [
      "are not compared before the ledger is booked up to the server's sequence",
      { lastSequence: 6, balanceMinor: 1 },
      { sequence: 7, balanceMinor: 2 },
      "behind",
    ],
    [
      "are compared at the server's sequence, also if the ledger has booked later events",
      { lastSequence: 9, balanceMinor: 5 },
      { sequence: 7, balanceMinor: 5 },
      "agrees",
    ],
    [
      "show a missing account: the ledger has money on an account that the server never had",
      { lastSequence: 1, balanceMinor: 5 },
      null,
      "missing",
    ],
    [
      "agree if the server never had the account and the ledger has no money on it",
      { lastSequence: 1, balanceMinor: 0 },
      null,
      "agrees",
    ],
  ] as const)("%s", (_name, ledger, server, finding) => {
    expect(compareBalances(ledger, server)).toBe(finding);
  });
});
