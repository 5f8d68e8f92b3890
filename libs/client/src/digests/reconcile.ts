/** Compares daily digests with the records that the customer has stored (the book), by account. */
import { isAccountGone } from "../errors.ts";
import type { AccountDigest, Deal, Money, Transaction } from "../generated/api.ts";
import { fieldText, HASHED_FIELDS, recordsHash, type RecordKind } from "./hash.ts";

/** Default maximum number of differences. */
const MAX_DIFFERENCES = 100;

/**
 * What your book has of an account on the day. Parts that are not given are not compared. A book
 * that has an account twice is rejected.
 */
export interface BookDay {
  readonly accountNumber: string;
  /** All transactions of the day. */
  readonly transactions?: readonly Transaction[] | undefined;
  /** All deals of the day. */
  readonly deals?: readonly Deal[] | undefined;
  /** The balance at the end of the day. */
  readonly closingBalance?: Money | undefined;
  /** The hash of the digest, if you have computed it. */
  readonly hash?: string | undefined;
}

/** Limits the report if many accounts differ. */
export interface ReconcileOptions {
  /** The comparison ends after this many differences; default 100. */
  readonly maxDifferences?: number | undefined;
}

/** The first record that differs. */
export interface RecordDifference {
  readonly kind: RecordKind;
  readonly id: string;
  /** The field that differs; null if one side does not have the record. */
  readonly field: string | null;
  /** Value of the field, or the record, in your book; null if your book does not have it. */
  readonly book: unknown;
  /** Value of the field, or the record, in kapi; null if kapi does not have it. */
  readonly kapi: unknown;
}

/** The first difference of an account. */
export interface DigestDifference {
  readonly accountNumber: string;
  /**
   * `account`: one side does not have the account. Otherwise the field of the digest, such as
   * `transactions.count`.
   */
  readonly field: string;
  /** The value in your book; for `account` the account number, or null. */
  readonly book: string | number | null;
  /** The value in kapi; for `account` the account number, or null. */
  readonly kapi: string | number | null;
  /**
   * The first transaction or deal that differs. Null if another part of the digest differs, or if
   * kapi no longer has the records. Null too if kapi's records, which are read after the digest,
   * are equal to the book.
   */
  readonly record: RecordDifference | null;
}

/**
 * How a day in your book differs from kapi. If `differences` has the maximum number, other accounts
 * can differ too.
 */
export interface Reconciliation {
  /** The day in UTC, `YYYY-MM-DD`. */
  readonly date: string;
  /** Number of accounts that were compared, or that one side does not have. */
  readonly accounts: number;
  /** One for each account that differs, up to the maximum; empty if your book and kapi agree. */
  readonly differences: readonly DigestDifference[];
}

/** Reads what kapi has of a day. */
export interface DigestSource {
  readonly digests: AsyncIterable<AccountDigest>;
  /** The records of an account and the day, oldest first. */
  readonly records: (kind: RecordKind, accountNumber: string) => Promise<readonly (Transaction | Deal)[]>;
}

/**
 * Compares the digests of a day with a book. Holds the digests of all accounts of the server in
 * memory, the account numbers of the book, and the records of one account of the book at a time.
 * @throws TypeError if the book has an account twice, or a text that is not an amount.
 */
export async function reconcileDay(
  source: DigestSource,
  date: string,
  book: Iterable<BookDay> | AsyncIterable<BookDay>,
  { maxDifferences = MAX_DIFFERENCES }: ReconcileOptions = {},
): Promise<Reconciliation> {
  const missing = new Map<string, AccountDigest>();
  for await (const digest of source.digests) missing.set(digest.accountNumber, digest);
  const differences: DigestDifference[] = [];
  const accounts = new Set<string>();
  for await (const day of book) {
    if (differences.length >= maxDifferences) return { date, accounts: accounts.size, differences };
    const { accountNumber } = day;
    if (accounts.has(accountNumber)) {
      throw new TypeError(`the book has the account ${accountNumber} twice: give each account once`);
    }
    accounts.add(accountNumber);
    const digest = missing.get(accountNumber);
    missing.delete(accountNumber);
    const difference = digest === undefined ? oneSided(accountNumber, "book") : await compare(source, day, digest);
    if (difference !== null) differences.push(difference);
  }
  for (const accountNumber of missing.keys()) {
    if (differences.length >= maxDifferences) break;
    accounts.add(accountNumber);
    differences.push(oneSided(accountNumber, "kapi"));
  }
  return { date, accounts: accounts.size, differences };
}

function oneSided(accountNumber: string, side: "book" | "kapi"): DigestDifference {
  const values = { book: null, kapi: null, [side]: accountNumber };
  return { accountNumber, field: "account", ...values, record: null };
}

/**
 * The first difference of an account: count, sums and hash of the transactions, then of the deals,
 * then the closing balance, then the hash of the digest. Null if the account agrees.
 */
async function compare(source: DigestSource, day: BookDay, digest: AccountDigest): Promise<DigestDifference | null> {
  const { accountNumber } = day;
  for (const kind of ["transactions", "deals"] as const) {
    const records = day[kind];
    if (records === undefined) continue;
    const difference = differentPart(kind, summaryOf(kind, records), digest);
    if (difference === null) continue;
    const record = await firstDifferentRecord(source, kind, accountNumber, records);
    return { accountNumber, ...difference, record };
  }
  const { closingBalance, hash } = day;
  if (closingBalance !== undefined && cents(closingBalance) !== cents(digest.closingBalance)) {
    return { accountNumber, field: "closingBalance", book: closingBalance, kapi: digest.closingBalance, record: null };
  }
  if (hash === undefined || hash === digest.hash) return null;
  return { accountNumber, field: "hash", book: hash, kapi: digest.hash, record: null };
}

type Summary = Readonly<Record<string, string | number>>;

/** The part of a digest that can be computed from records; its hash comes last. */
function summaryOf(kind: RecordKind, records: readonly (Transaction | Deal)[]): Summary {
  const sums = kind === "deals" ? ["commission", "realizedPnl", "swap"] : ["amount"];
  const sumOf = (name: string): string =>
    moneyText(records.reduce((total, record) => total + cents((record as Record<string, unknown>)[name]), 0n));
  return {
    count: records.length,
    ...Object.fromEntries(sums.map((name) => [name, sumOf(name)])),
    hash: recordsHash(kind, records),
  };
}

function differentPart(
  kind: RecordKind,
  own: Summary,
  digest: AccountDigest,
): Pick<DigestDifference, "field" | "book" | "kapi"> | null {
  const part: Summary = { ...digest[kind] };
  for (const [name, book] of Object.entries(own)) {
    const kapi = part[name] ?? null;
    if (book !== kapi) return { field: `${kind}.${name}`, book, kapi };
  }
  return null;
}

/** Null if kapi no longer has the records, or if they are equal to the book when they are read. */
async function firstDifferentRecord(
  source: DigestSource,
  kind: RecordKind,
  accountNumber: string,
  own: readonly (Transaction | Deal)[],
): Promise<RecordDifference | null> {
  const left = new Map(own.map((record) => [record.id, record]));
  const records = await recordsOf(source, kind, accountNumber);
  if (records === null) return null;
  for (const kapi of records) {
    const { id } = kapi;
    const book = left.get(id);
    left.delete(id);
    if (book === undefined) return { kind, id, field: null, book: null, kapi };
    const [one, other] = [book, kapi] as unknown as Readonly<Record<string, unknown>>[];
    const field = HASHED_FIELDS[kind].find(
      (name) => fieldText(name, one?.[name] ?? null) !== fieldText(name, other?.[name] ?? null),
    );
    if (field !== undefined) return { kind, id, field, book: one?.[field] ?? null, kapi: other?.[field] ?? null };
  }
  const [book] = left.values();
  return book === undefined ? null : { kind, id: book.id, field: null, book, kapi: null };
}

async function recordsOf(
  source: DigestSource,
  kind: RecordKind,
  accountNumber: string,
): Promise<readonly (Transaction | Deal)[] | null> {
  try {
    return await source.records(kind, accountNumber);
  } catch (error) {
    // The account was deleted with its history; its digests stay.
    if (isAccountGone(error)) return null;
    throw error;
  }
}

/** Decimal text with at most two decimals. */
const AMOUNT = /^-?[0-9]+(\.[0-9]{1,2})?$/;

/**
 * A number may differ from its two decimals by this, because a sum of floats has an error: the sum
 * of 0.1 and 0.2 is 0.30000000000000004.
 */
const MAX_FLOAT_ERROR = 1e-4;

/**
 * Converts an amount to cents. The amount is decimal text, or a number of a JSON document.
 * @throws TypeError for anything else, because it would be compared wrongly.
 */
function cents(amount: unknown): bigint {
  let text = String(amount);
  if (typeof amount === "number") {
    const rounded = amount.toFixed(2);
    if (Math.abs(Number(rounded) - amount) < MAX_FLOAT_ERROR) text = rounded;
  }
  if (!AMOUNT.test(text)) throw new TypeError(`"${text}" in the book is not an amount such as 250.55`);
  const [units = "0", decimals = ""] = text.split(".");
  return BigInt(units + decimals.padEnd(2, "0"));
}

function moneyText(total: bigint): string {
  const digits = String(total < 0n ? -total : total).padStart(3, "0");
  return `${total < 0n ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
