import { expect, test } from "vitest";

import { type AccountName, createKnownAccounts } from "./known-accounts.ts";

const SERVER = "0197a000-0000-7000-8000-000000000001";

function remembering(existing: Set<string>, maxEntries = 10) {
  const loads: AccountName[][] = [];
  const accounts = createKnownAccounts({
    maxEntries,
    load: (names) => {
      loads.push([...names]);
      return Promise.resolve(names.map((name) => existing.has(name.accountNumber)));
    },
  });
  return { accounts, loads };
}

test("an account that exists is asked for once; one that does not is asked for again each time", async () => {
  const { accounts, loads } = remembering(new Set(["1000"]));
  for (let time = 0; time < 3; time += 1) {
    expect(await accounts.exists(SERVER, "1000")).toBe(true);
    expect(await accounts.exists(SERVER, "2000")).toBe(false);
  }
  expect(loads.flat().map((name) => name.accountNumber)).toEqual(["1000", "2000", "2000", "2000"]);
});

test("misses that come together are asked for together", async () => {
  const { accounts, loads } = remembering(new Set(["1000", "2000"]));
  expect(await Promise.all(["1000", "2000", "3000"].map((number) => accounts.exists(SERVER, number)))).toEqual([
    true,
    true,
    false,
  ]);
  expect(loads).toHaveLength(1);
});

test("the memory keeps to its limit, and forgets what it is told to", async () => {
  const { accounts, loads } = remembering(new Set(["1000", "2000", "3000"]), 2);
  for (const number of ["1000", "2000", "3000"]) await accounts.exists(SERVER, number);
  accounts.forget(SERVER, "3000");
  for (const number of ["2000", "1000", "3000"]) await accounts.exists(SERVER, number);
  expect(loads.flat().map((name) => name.accountNumber)).toEqual(["1000", "2000", "3000", "1000", "3000"]);
});

test("an answer from before a deletion is not remembered after it", async () => {
  const existing = new Set(["1000"]);
  const { accounts } = remembering(existing);
  const before = accounts.exists(SERVER, "1000");
  accounts.forget(SERVER, "1000");
  expect(await before).toBe(true);
  existing.delete("1000");
  expect(await accounts.exists(SERVER, "1000")).toBe(false);
});
