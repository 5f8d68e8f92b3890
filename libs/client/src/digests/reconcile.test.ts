import { afterEach, beforeEach, expect, it, vi } from "vitest";

import {
  recordsHash as exampleRecordsHash,
  digestHash as exampleDigestHash,
} from "../../../../docs/examples/daily-digest.ts";
import { type BookDay, digestHash, InvalidRequestError, Kapi, recordsHash } from "../index.ts";
import { createFakeKapi } from "../testing/index.ts";

const DAY = "2026-03-02";

let time: string;
let fake: ReturnType<typeof createFakeKapi>;
let kapi: Kapi;

const server = () => kapi.server(fake.serverId);

beforeEach(() => {
  time = `${DAY}T09:00:00.000Z`;
  fake = createFakeKapi({ now: () => new Date(time) });
  kapi = new Kapi(fake.options);
});
afterEach(() => vi.restoreAllMocks());

async function openAccount(initialBalance = "1000"): Promise<string> {
  const account = { accountName: "Books", initialBalance, leverage: 100 };
  return (await (await server().accounts.create(account, { key: crypto.randomUUID() })).result()).accountNumber;
}

/** Opens an account that trades on `DAY`, then moves the time to the next day. */
async function tradedAccount(): Promise<string> {
  const accountNumber = await openAccount();
  fake.closePosition(accountNumber, fake.openPosition(accountNumber), { profit: "12.50" });
  time = "2026-03-03T08:00:00.000Z";
  return accountNumber;
}

/** The book of somebody who has stored every record of the API. */
async function bookOf(accountNumber: string) {
  const account = server().account(accountNumber);
  const period = { since: `${DAY}T00:00:00.000Z`, until: "2026-03-03T00:00:00.000Z" };
  const transactions = await account.transactions(period).toArray();
  const deals = await account.deals(period).toArray();
  const closingBalance = transactions[0]?.balanceAfter ?? "0.00";
  const [digest] = await server().digests({ date: DAY }).toArray();
  return { accountNumber, transactions, deals, closingBalance, hash: digest?.hash ?? "" };
}

async function differences(book: readonly BookDay[]) {
  return (await server().reconcile(DAY, book)).differences;
}

it("a backend's book with the same records agrees with kapi, in any order of the records", async () => {
  const book = await bookOf(await tradedAccount());
  const shuffled = { ...book, transactions: book.transactions.toReversed(), deals: book.deals.toReversed() };
  expect(await server().reconcile(DAY, [shuffled])).toEqual({ date: DAY, accounts: 1, differences: [] });
});

it("a transaction that the book does not have is named", async () => {
  const accountNumber = await tradedAccount();
  const book = await bookOf(accountNumber);
  const [lost] = book.transactions;
  expect(await differences([{ ...book, transactions: book.transactions.slice(1) }])).toEqual([
    {
      accountNumber,
      field: "transactions.count",
      book: book.transactions.length - 1,
      kapi: book.transactions.length,
      record: { kind: "transactions", id: lost?.id, field: null, book: null, kapi: lost },
    },
  ]);
});

it("a wrong amount or a wrong text in the book is named, with the values of the book and of kapi", async () => {
  const accountNumber = await tradedAccount();
  const book = await bookOf(accountNumber);
  const change = (fields: object) => [
    { ...book, transactions: book.transactions.map((one, index) => (index === 0 ? { ...one, ...fields } : one)) },
  ];
  const id = book.transactions[0]?.id;
  const [amount] = await differences(change({ amount: "12.51" }));
  expect(amount).toMatchObject({ field: "transactions.amount", book: "1012.51", kapi: "1012.50" });
  expect(amount?.record).toEqual({ kind: "transactions", id, field: "amount", book: "12.51", kapi: "12.50" });
  const [text] = await differences(change({ description: "another" }));
  expect(text).toMatchObject({ field: "transactions.hash" });
  expect(text?.record).toEqual({ kind: "transactions", id, field: "description", book: "another", kapi: null });
});

it("a deal that kapi does not have is named", async () => {
  const book = await bookOf(await tradedAccount());
  const [deal] = book.deals;
  if (deal === undefined) throw new Error("no deal");
  const invented = { ...deal, id: "another" };
  const [found] = await differences([{ ...book, deals: [...book.deals, invented] }]);
  expect(found).toMatchObject({ field: "deals.count", record: { id: "another", book: invented, kapi: null } });
});

it("a different balance, a different hash, and an account that only one side has are named", async () => {
  const accountNumber = await tradedAccount();
  expect(await differences([{ accountNumber, closingBalance: "1" }])).toMatchObject([
    { field: "closingBalance", book: "1", kapi: "1012.50" },
  ]);
  expect(await differences([{ accountNumber, hash: "0" }])).toMatchObject([{ field: "hash", book: "0" }]);
  expect(await differences([{ accountNumber: "99999999" }])).toEqual([
    { accountNumber: "99999999", field: "account", book: "99999999", kapi: null, record: null },
    { accountNumber, field: "account", book: null, kapi: accountNumber, record: null },
  ]);
});

it("after the deletion of an account, its digest still shows a difference, but names no record", async () => {
  const accountNumber = await tradedAccount();
  const book = await bookOf(accountNumber);
  await server().account(accountNumber).deleteImmediately();
  expect(await differences([book])).toEqual([]);
  const [found] = await differences([{ ...book, deals: [] }]);
  expect(found).toMatchObject({ field: "deals.count", record: null });
});

it("a 404 of a proxy is an error: it does not mean that the account was deleted", async () => {
  const book = await bookOf(await tradedAccount());
  const answer: typeof fetch = async (input, init) =>
    new Request(input).url.includes("/deals?") ? new Response("<html>", { status: 404 }) : fake.fetch(input, init);
  const reconciled = new Kapi({ ...fake.options, fetch: answer })
    .server(fake.serverId)
    .reconcile(DAY, [{ ...book, deals: [] }]);
  await expect(reconciled).rejects.toMatchObject({ status: 404, code: "HTTP_404" });
});

it("a book that has an account twice is rejected, also if kapi does not have the account", async () => {
  const accountNumber = await tradedAccount();
  for (const twice of [accountNumber, "99999999"]) {
    const reconciled = differences([{ accountNumber: twice }, { accountNumber: twice }]);
    await expect(reconciled, twice).rejects.toThrow(
      new TypeError(`the book has the account ${twice} twice: give each account once`),
    );
  }
});

it("a balance with more than two decimals is rejected, also as a number; a sum of floats with a rounding error is accepted", async () => {
  const accountNumber = await tradedAccount();
  // A book that was read from JSON may have numbers, which its type does not know.
  const bookWith = (balance: string | number) => [{ accountNumber, closingBalance: balance as string }];
  for (const balance of ["250.555", 250.555, 1_000_000_000.005]) {
    const reconciled = differences(bookWith(balance));
    await expect(reconciled, String(balance)).rejects.toThrow(`"${balance}" in the book is not an amount`);
  }
  const tenths = Array.from({ length: 1_000 }, () => 0.1).reduce((total, tenth) => total + tenth, 0);
  for (const sum of [0.1 + 0.2, 1_000.1 - 1_000, 10_250.55 - 10_000, tenths, 123_456_789.1 - 0.01]) {
    const [difference] = await differences(bookWith(sum));
    expect(difference).toMatchObject({ field: "closingBalance", book: sum });
  }
});

it("the comparison ends after the maximum number of differences", async () => {
  for (let count = 0; count < 3; count += 1) await openAccount();
  await tradedAccount();
  expect((await server().reconcile(DAY, [], { maxDifferences: 2 })).differences).toHaveLength(2);
});

it("digests of a day that is not over are refused", async () => {
  await openAccount();
  await expect(server().digests({ date: DAY }).toArray()).rejects.toThrow(InvalidRequestError);
});

it("the client computes the hashes of the example in the documentation, from decimal text and from JSON numbers", async () => {
  const book = await bookOf(await tradedAccount());
  const asJson = (record: object) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, /^-?\d+\.\d\d$/.test(value) ? Number(value) : value]),
    );
  for (const kind of ["transactions", "deals"] as const) {
    const records = book[kind];
    expect(records.length).toBeGreaterThan(0);
    expect(recordsHash(kind, records)).toBe(exampleRecordsHash(kind, records));
    expect(recordsHash(kind, records.map(asJson) as never)).toBe(exampleRecordsHash(kind, records));
  }
  for (const value of [1e-7, 1.2345678901234566e-7, 2e-21, -2e-21, 5e-324, 123456789.12345679, 1e21, 1.25e22]) {
    const deals = book.deals.map((deal) => Object.assign({}, deal, { price: value, volume: value }));
    expect(recordsHash("deals", deals), String(value)).toBe(exampleRecordsHash("deals", deals));
  }
  const [digest] = await server().digests({ date: DAY }).toArray();
  if (digest === undefined) throw new Error("no digest");
  expect(digest.hash).toBe(digestHash(fake.serverId, digest));
  expect(digest.hash).toBe(exampleDigestHash(fake.serverId, digest));
});
