import fc from "fast-check";
import { expect, it } from "vitest";

import { AccountDays, type DatedTransaction } from "./account-days.ts";

const DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"];
const ALL_DAYS = ["2026-02-27", "2026-02-28", ...DAYS, "2026-03-04"];

const history = fc
  .array(fc.record({ amountMinor: fc.integer({ min: -1_000, max: 1_000 }), day: fc.constantFrom(...ALL_DAYS) }))
  .map((rows): DatedTransaction[] => rows.map((row, index) => Object.assign({ sequence: index + 1 }, row)));

function daysOf(all: readonly DatedTransaction[], added: readonly DatedTransaction[]) {
  const balanceMinor = all.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  const days = new AccountDays({ days: DAYS, balanceMinor, lastSequence: all.length });
  for (const transaction of added) days.add(transaction);
  return days.result();
}

it("each day has the number and sum of its transactions, and the balance at the day's end, also if transactions are added newest first", () => {
  fc.assert(
    fc.property(history, (all) => {
      const sum = (some: readonly DatedTransaction[]) =>
        some.reduce((total, { amountMinor }) => total + amountMinor, 0);
      const result = daysOf(all, all.toReversed());
      for (const [index, day] of DAYS.entries()) {
        const ofDay = all.filter((transaction) => transaction.day === day);
        const through = all.filter((transaction) => transaction.day <= day);
        const firstLater = all.find((transaction) => transaction.day > day);
        expect(result[index]).toEqual({
          day,
          count: ofDay.length,
          amountMinor: sum(ofDay),
          closingBalanceMinor: sum(through),
          settledSequence: firstLater === undefined ? all.length : firstLater.sequence - 1,
          hasBegun: through.length > 0,
        });
      }
    }),
  );
});

it("transactions that are settled for the first day are not needed for the later days: at most `hasBegun` differs without them", () => {
  fc.assert(
    fc.property(history, (all) => {
      const [first] = daysOf(all, all);
      const left = all.filter(({ sequence }) => sequence > (first?.settledSequence ?? 0));
      const [, ...without] = daysOf(all, left).map(({ hasBegun: _hasBegun, ...day }) => day);
      const [, ...whole] = daysOf(all, all).map(({ hasBegun: _hasBegun, ...day }) => day);
      expect(without).toEqual(whole);
    }),
  );
});
