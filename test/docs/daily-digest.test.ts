/** The program of the guide to daily digests, run unchanged on a digest that kapi's code makes. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import type { Deal, Transaction } from "@kapi/contracts";
import { dealText, digestHash, RecordHashes, transactionText } from "@kapi/digests/hash";
import { afterAll, beforeAll, expect, it } from "vitest";

import { programOf } from "./examples.ts";

const run = promisify(execFile);
const PROGRAM_TIMEOUT_MS = 20_000;
const SERVER_ID = "0190a5c0-2222-7aaa-8bbb-cccccccccccc";

const TRANSACTION: Transaction = {
  id: "0190a5c0-3333-7aaa-8bbb-cccccccccccc",
  accountNumber: "10000001",
  sequence: 7,
  type: "withdrawal",
  amount: -12.5,
  currency: "USD",
  balanceBefore: 100,
  balanceAfter: 87.5,
  description: 'Gold/€ 🥇 "1"\t\u007f\u2028',
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
  swap: -0.01,
  executedAt: "2026-03-02T09:15:00.000123Z",
};

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-digest-"));
  writeFileSync(path.join(folder, "compare.py"), programOf("daily-digest.md", "python"));
});

afterAll(() => rmSync(folder, { recursive: true }));

function hashOf(texts: readonly string[]): string {
  const hashes = new RecordHashes();
  for (const text of texts) hashes.add(text);
  return hashes.digest();
}

/** The records of a day in a backend's book, and the digest that kapi makes of them. */
function book() {
  const transactions = [TRANSACTION, { ...TRANSACTION, id: "0190a5c0-4444-7aaa-8bbb-cccccccccccc", sequence: 8 }];
  const deals = [DEAL, { ...DEAL, id: "D-2", price: 1e-7, volume: 150 }];
  const content = {
    accountNumber: "10000001",
    currency: "USD" as const,
    closingBalance: 75,
    transactions: { count: 2, amount: -25, hash: hashOf(transactions.map(transactionText)) },
    deals: { count: 2, commission: -7, realizedPnl: 0, swap: -0.02, hash: hashOf(deals.map(dealText)) },
  };
  const date = "2026-03-02";
  const digest = { date, ...content, hash: digestHash(SERVER_ID, date, content), revision: 1, revisedAt: null };
  return { serverId: SERVER_ID, digest, transactions, deals };
}

/** Returns the output of the program for a book. Rejects if the program finds a difference. */
async function compareWithPython(value: object): Promise<string> {
  const file = path.join(folder, "book.json");
  writeFileSync(file, JSON.stringify(value));
  const program = path.join(folder, "compare.py");
  return (await run("python3", [program, file], { timeout: PROGRAM_TIMEOUT_MS })).stdout;
}

it("the Python program of the documentation agrees with kapi, whatever the order of the records", async () => {
  const { transactions, deals, ...rest } = book();
  const reversed = { ...rest, transactions: transactions.toReversed(), deals: deals.toReversed() };
  expect(await compareWithPython(reversed)).toBe("agrees: 10000001 2026-03-02\n");
});

it("the Python program of the documentation finds a missing record, a changed record and a changed balance", async () => {
  const own = book();
  const { digest, deals, transactions } = own;
  await expect(compareWithPython({ ...own, transactions: transactions.slice(1) })).rejects.toThrow(
    "transactions differ",
  );
  const wrong = deals.map((deal) => Object.assign({}, deal, { swap: 0 }));
  await expect(compareWithPython({ ...own, deals: wrong })).rejects.toThrow("deals differ");
  const balance = { ...digest, closingBalance: 75.01 };
  await expect(compareWithPython({ ...own, digest: balance })).rejects.toThrow("the digest differs");
});
