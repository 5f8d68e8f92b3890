/** Daily digests (decisions, 21). */
import { z } from "zod";

import { Currency } from "../values.ts";
import { checkedPageQuery, cursorFields, Pagination } from "./pagination.ts";

/** Name and version of the hashed texts. A change of any of them needs a new version. */
export const DIGEST_FORMAT = "kapi-digest/1";
/** A digest is deleted when its day is more than this many days ago. */
export const DIGEST_RETENTION_DAYS = 400;

/** A day in UTC. */
export const DigestDate = z.iso.date();
const Hash = z.string().regex(/^[0-9a-f]{64}$/);

/** The transactions of an account on one day. Amounts in units of currency. */
export const TransactionsDigest = z.object({
  count: z.int().min(0),
  /** The sum of all amounts. */
  amount: z.number(),
  hash: Hash,
});
export type TransactionsDigest = z.infer<typeof TransactionsDigest>;

/** The deals of an account on one day. Amounts in units of currency; costs are negative. */
export const DealsDigest = z.object({
  count: z.int().min(0),
  commission: z.number(),
  realizedPnl: z.number(),
  swap: z.number(),
  hash: Hash,
});
export type DealsDigest = z.infer<typeof DealsDigest>;

/** What the hash of a digest covers, besides the server and the day. */
export const DigestContent = z.object({
  accountNumber: z.string(),
  currency: Currency,
  /** The sum of all transactions that were recorded before the end of the day. */
  closingBalance: z.number(),
  transactions: TransactionsDigest,
  deals: DealsDigest,
});
export type DigestContent = z.infer<typeof DigestContent>;

/** The digest of an account and a day as the API shows it. */
export const AccountDigest = DigestContent.extend({
  date: DigestDate,
  hash: Hash,
  /** 1 for the first version of the digest; each change adds 1. */
  revision: z.int().min(1),
  createdAt: z.iso.datetime(),
  revisedAt: z.iso.datetime().nullable(),
});
export type AccountDigest = z.infer<typeof AccountDigest>;

/** Query of listDailyDigests. */
export const ListDigestsQuery = checkedPageQuery(z.object({ ...cursorFields("digests"), date: DigestDate }));
export type ListDigestsQuery = z.infer<typeof ListDigestsQuery>;

/** Answer of listDailyDigests, by account number. */
export const DigestsAnswer = z.object({ date: DigestDate, digests: z.array(AccountDigest), pagination: Pagination });
