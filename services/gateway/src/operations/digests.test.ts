import { OPERATIONS } from "@kapi/contracts";
import { digestHash, NO_RECORDS_HASH } from "@kapi/digests/hash";
import { delay } from "@kapi/kernel";
import { beforeEach, expect, it, vi } from "vitest";

import type { Digests } from "../domain/ports.ts";
import type { Call } from "./call.ts";
import { digestOperations, READS_TIMEOUT_MS } from "./digests.ts";

const SERVER_ID = "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a02";
const HASH = "0ba904eae8773b70c75333db4de2f3ac45a8ad4ddba1b242f0b3cfc199391dd8";
const DATE = "2026-03-02";
/** Duration of the first read, in milliseconds: just below its deadline of 2.5 s. */
const FIRST_READ_MS = 2_400;
const TRANSACTIONS = {
  accountNumber: "10000001",
  currency: "USD" as const,
  closingBalance: 100,
  transactions: { count: 1, amount: 100, hash: HASH },
  revision: 2,
  createdAt: "2026-03-03T00:10:00.000Z",
  revisedAt: "2026-03-03T05:00:00.000Z",
};
const DEALS = {
  accountNumber: "10000001",
  count: 1,
  commission: -3.5,
  realizedPnl: 12.5,
  swap: 0,
  hash: HASH,
  revision: 3,
  revisedAt: "2026-03-03T06:00:00.000Z",
};
const pagination = { page: 1, limit: 20, total: 2, totalPages: 1, nextCursor: null };

const transactions = vi.fn<Digests["transactions"]>();
const deals = vi.fn<Digests["deals"]>();
const read = vi.fn(() => Promise.resolve());
const { listDailyDigests } = digestOperations({
  digests: { transactions, deals },
  clock: { nowMs: () => Date.parse("2026-03-03T00:00:00.000Z") },
});

beforeEach(() => {
  vi.clearAllMocks();
  transactions.mockResolvedValue({ state: "made", digests: [TRANSACTIONS], pagination });
  deals.mockResolvedValue({ state: "made", digests: [DEALS] });
});

function ask(date: string) {
  const charge = {
    read,
    reject: async (error: Error): Promise<never> => {
      await read();
      throw error;
    },
  };
  const contract = OPERATIONS.listDailyDigests;
  return listDailyDigests({ charge, contract, params: { serverId: SERVER_ID }, query: { date } } as unknown as Call);
}

async function digestsOf(date: string) {
  const { body } = await ask(date);
  return (JSON.parse((body as Buffer).toString("utf8")) as { digests: Record<string, unknown>[] }).digests;
}

it("a digest joins the parts of both services: every change of a part is a revision, and revisedAt is the time of the last change", async () => {
  const { revision: _r, revisedAt: _at, accountNumber, ...ofDeals } = DEALS;
  const [digest] = await digestsOf(DATE);
  const { revision: _revision, createdAt: _createdAt, revisedAt: _revisedAt, ...content } = TRANSACTIONS;
  expect(digest).toEqual({
    date: DATE,
    ...content,
    accountNumber,
    deals: ofDeals,
    hash: digestHash(SERVER_ID, DATE, { ...content, deals: ofDeals }),
    revision: 4,
    createdAt: TRANSACTIONS.createdAt,
    revisedAt: DEALS.revisedAt,
  });
});

it("the read of the deals gets only the time that the read of the transactions has left", async () => {
  vi.useFakeTimers();
  try {
    transactions.mockImplementation(async () => {
      await delay(FIRST_READ_MS);
      return { state: "made", digests: [TRANSACTIONS], pagination };
    });
    const answer = ask(DATE);
    await vi.advanceTimersByTimeAsync(FIRST_READ_MS);
    expect((await answer).status).toBe(200);
    expect(deals).toHaveBeenCalledExactlyOnceWith(SERVER_ID, DATE, ["10000001"], READS_TIMEOUT_MS - FIRST_READ_MS);
  } finally {
    vi.useRealTimers();
  }
});

it("an account without a digest of deals had no deals", async () => {
  deals.mockResolvedValue({ state: "made", digests: [] });
  const [digest] = await digestsOf(DATE);
  expect(digest).toMatchObject({
    deals: { count: 0, commission: 0, realizedPnl: 0, swap: 0, hash: NO_RECORDS_HASH },
    revision: 2,
    revisedAt: TRANSACTIONS.revisedAt,
  });
});

it("a request is answered 409 until both services have made the digests of the day, and 404 if finance has none", async () => {
  deals.mockResolvedValue({ state: "pending" });
  const error = { status: 409, code: "DIGEST_NOT_READY", headers: { "retry-after": "60" } };
  await expect(ask(DATE)).rejects.toMatchObject(error);
  transactions.mockResolvedValue({ state: "pending" });
  await expect(ask(DATE)).rejects.toMatchObject(error);
  transactions.mockResolvedValue({ state: "none" });
  await expect(ask(DATE)).rejects.toMatchObject({ status: 404, code: "DIGEST_NOT_FOUND" });
  expect(read).toHaveBeenCalledTimes(3);
});

it.each(["2026-03-03", "2026-03-04", "2026-02-30", "yesterday", ""])(
  'a request with the date "%s" is answered 400 and costs the read price, and no owner is asked',
  async (date) => {
    const issues = [{ path: ["date"] }];
    await expect(ask(date)).rejects.toMatchObject({ status: 400, issues });
    expect(transactions).not.toHaveBeenCalled();
    expect(deals).not.toHaveBeenCalled();
    expect(read).toHaveBeenCalledOnce();
  },
);
