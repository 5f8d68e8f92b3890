import type { Deal, Transaction } from "@kapi/contracts";
import fc from "fast-check";
import { expect, it } from "vitest";

import { digestHash as exampleDigestHash, recordsHash } from "../../../docs/examples/daily-digest.ts";
import { dealText, digestHash, NO_RECORDS_HASH, numberText, RecordHashes, transactionText } from "./hash.ts";

const TRANSACTION: Transaction = {
  id: "0190a5c0-3333-7aaa-8bbb-cccccccccccc",
  accountNumber: "10000001",
  sequence: 7,
  type: "withdrawal",
  amount: -12.5,
  currency: "USD",
  balanceBefore: 100,
  balanceAfter: 87.5,
  description: 'Gold/€ 🥇 "1"\t',
  requestId: null,
  commandId: null,
  orderId: null,
  positionId: null,
  dealId: null,
  reversalOf: null,
  createdBy: { type: "key", id: "mfrggzdfmztwq2lk" },
  recordedAt: "2026-03-02T09:15:00.000Z",
  createdAt: "2026-03-02T09:15:00.100Z",
};
const DEAL: Deal = {
  id: "D-1",
  orderId: "O-1",
  positionId: "P-1",
  symbol: "EURUSD",
  side: "buy",
  kind: "entry",
  volume: 0.1,
  price: 1.08451,
  commission: -3.5,
  realizedPnl: 0,
  swap: 0,
  executedAt: "2026-03-02T09:15:00.000123Z",
};
const cents = fc.integer({ min: -1e12, max: 1e12 }).map((value) => value / 100);
/** Prices and volumes: usual ones, and every other number. */
const number = fc.oneof(
  fc
    .tuple(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 0, max: 10 }))
    .map(([digits, decimals]) => digits / 10 ** decimals),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

function hashOf(texts: readonly string[]): string {
  const hashes = new RecordHashes();
  for (const text of texts) hashes.add(text);
  return hashes.digest();
}

it("the canonical form of a record has its fields in the order of their names, and amounts, volumes and prices as decimal text", () => {
  expect(transactionText(TRANSACTION)).toBe(
    `{"accountNumber":"10000001","amount":"-12.50","balanceAfter":"87.50","balanceBefore":"100.00","commandId":null,` +
      `"createdAt":"2026-03-02T09:15:00.100Z","createdBy":{"id":"mfrggzdfmztwq2lk","type":"key"},"currency":"USD",` +
      String.raw`"dealId":null,"description":"Gold/€ 🥇 \"1\"\t","id":"0190a5c0-3333-7aaa-8bbb-cccccccccccc",` +
      `"orderId":null,"positionId":null,"recordedAt":"2026-03-02T09:15:00.000Z","requestId":null,"reversalOf":null,` +
      `"sequence":7,"type":"withdrawal"}`,
  );
  expect(dealText(DEAL)).toBe(
    `{"commission":"-3.50","executedAt":"2026-03-02T09:15:00.000123Z","id":"D-1","kind":"entry","orderId":"O-1",` +
      `"positionId":"P-1","price":"1.08451","realizedPnl":"0.00","side":"buy","swap":"0.00","symbol":"EURUSD",` +
      `"volume":"0.1"}`,
  );
});

it("a field that a later version of the API adds changes no hash", () => {
  expect(transactionText(Object.assign({ later: 1 }, TRANSACTION))).toBe(transactionText(TRANSACTION));
  expect(dealText(Object.assign({ later: 1 }, DEAL))).toBe(dealText(DEAL));
});

it("the hash of records is that of the example in the documentation, for any values and in any order", () => {
  expect(NO_RECORDS_HASH).toBe(recordsHash("deals", []));
  const transactions = fc.array(
    fc.record({ id: fc.uuid(), amount: cents, balanceAfter: cents, description: fc.option(fc.string()) }),
  );
  const deals = fc.array(fc.record({ id: fc.string(), volume: number, price: number, realizedPnl: cents }));
  fc.assert(
    fc.property(transactions, deals, (someTransactions, someDeals) => {
      const own = someTransactions.map((fields) => ({ ...TRANSACTION, ...fields }));
      expect(hashOf(own.map(transactionText))).toBe(recordsHash("transactions", own.toReversed()));
      const ownDeals = someDeals.map((fields) => ({ ...DEAL, ...fields }));
      expect(hashOf(ownDeals.map(dealText))).toBe(recordsHash("deals", ownDeals.toReversed()));
    }),
  );
});

it("the hash of a digest covers the server, the day, the account and all content of the digest", () => {
  const serverId = "0190a5c0-2222-7aaa-8bbb-cccccccccccc";
  const content = {
    accountNumber: "10000001",
    currency: "USD" as const,
    closingBalance: 87.5,
    transactions: { count: 1, amount: -12.5, hash: hashOf([transactionText(TRANSACTION)]) },
    deals: { count: 1, commission: -3.5, realizedPnl: 0, swap: 0, hash: hashOf([dealText(DEAL)]) },
  };
  const hash = digestHash(serverId, "2026-03-02", content);
  expect(hash).toBe(exampleDigestHash(serverId, { ...content, date: "2026-03-02" }));
  const { transactions, deals } = content;
  for (const changed of [
    { accountNumber: "10000002" },
    { currency: "NGN" as const },
    { closingBalance: 87.51 },
    { transactions: { ...transactions, count: 2 } },
    { transactions: { ...transactions, amount: 0 } },
    { transactions: { ...transactions, hash: NO_RECORDS_HASH } },
    { deals: { ...deals, count: 2 } },
    { deals: { ...deals, commission: 0 } },
    { deals: { ...deals, realizedPnl: 0.01 } },
    { deals: { ...deals, swap: 0.01 } },
    { deals: { ...deals, hash: NO_RECORDS_HASH } },
  ]) {
    expect(digestHash(serverId, "2026-03-02", { ...content, ...changed })).not.toBe(hash);
  }
  expect(digestHash(serverId, "2026-03-03", content)).not.toBe(hash);
  expect(digestHash(TRANSACTION.id, "2026-03-02", content)).not.toBe(hash);
});

it("the text of a number has no exponent, and is read as the same number", () => {
  const values = [1.08451, 0.01, 1e-7, 1.5e-10, -2, 0, 1e21, 1.25e22, -1.2e-7];
  expect(values.map(numberText)).toEqual([
    "1.08451",
    "0.01",
    "0.0000001",
    "0.00000000015",
    "-2",
    "0",
    "1000000000000000000000",
    "12500000000000000000000",
    "-0.00000012",
  ]);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(numberText(value)).toMatch(/^-?\d+(\.\d+)?$/);
      expect(Number(numberText(value))).toBe(value + 0);
    }),
  );
});
