import type { AccountRef } from "@kapi/contracts";
import { expect, test } from "vitest";

import { createKnownAccounts } from "./known-accounts.ts";

const SERVER = "0197a000-0000-7000-8000-000000000001";

function remembering(existing: Set<string>, maxEntries = 10) {
  const loads: AccountRef[][] = [];
  const accounts = createKnownAccounts({
    maxEntries,
    load: (names) => {
      loads.push([...names]);
      return Promise.resolve(
        names.map(({ accountNumber }) => (existing.has(accountNumber) ? `id of ${accountNumber}` : null)),
      );
    },
  });
  return { accounts, loads };
}

test("an existing account is loaded once, and an account that does not exist is loaded each time", async () => {
  const { accounts, loads } = remembering(new Set(["1000"]));
  for (let time = 0; time < 3; time += 1) {
    expect(await accounts.find(SERVER, "1000")).toBe("id of 1000");
    expect(await accounts.find(SERVER, "2000")).toBeNull();
  }
  expect(loads.flat().map((name) => name.accountNumber)).toEqual(["1000", "2000", "2000", "2000"]);
});

test("concurrent look-ups of accounts that are not cached share one load", async () => {
  const { accounts, loads } = remembering(new Set(["1000", "2000"]));
  expect(await Promise.all(["1000", "2000", "3000"].map((number) => accounts.find(SERVER, number)))).toEqual([
    "id of 1000",
    "id of 2000",
    null,
  ]);
  expect(loads).toHaveLength(1);
});

test("the cache does not exceed its limit, and forgets an account on request", async () => {
  const { accounts, loads } = remembering(new Set(["1000", "2000", "3000"]), 2);
  for (const number of ["1000", "2000", "3000"]) await accounts.find(SERVER, number);
  accounts.forget(SERVER, "3000");
  for (const number of ["2000", "1000", "3000"]) await accounts.find(SERVER, number);
  expect(loads.flat().map((name) => name.accountNumber)).toEqual(["1000", "2000", "3000", "1000", "3000"]);
});

test("an answer that was requested before a deletion is not cached after the deletion", async () => {
  const existing = new Set(["1000"]);
  const { accounts } = remembering(existing);
  const before = accounts.find(SERVER, "1000");
  accounts.forget(SERVER, "1000");
  expect(await before).toBe("id of 1000");
  existing.delete("1000");
  expect(await accounts.find(SERVER, "1000")).toBeNull();
});

test("an answer that is not lasting is returned and loaded again", async () => {
  let loads = 0;
  const accounts = createKnownAccounts({
    maxEntries: 10,
    load: () => Promise.resolve([{ id: (loads += 1) === 1 ? null : "an id" }]),
    isLasting: ({ id }) => id !== null,
  });
  expect(await accounts.find(SERVER, "1000")).toEqual({ id: null });
  for (let time = 0; time < 2; time += 1) expect(await accounts.find(SERVER, "1000")).toEqual({ id: "an id" });
  expect(loads).toBe(2);
});
