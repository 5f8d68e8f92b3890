/**
 * The routes with which the gateway reads the parts of daily digests that finance and account make
 * (decisions, 21).
 */
import { z } from "zod";

import { DealsDigest, DigestContent, DigestDate, ListDigestsQuery } from "../http/digests.ts";
import { Pagination } from "../http/pagination.ts";

/** Maximum number of accounts in one request for the digests of deals: a page of the API. */
const MAX_ACCOUNTS = 100;

/**
 * `pending`: the digests of the day are not all made yet. `none`: the service has no digests of the
 * day.
 */
const NotMade = z.object({ state: z.enum(["pending", "none"]) });
const Revised = { revision: z.int().min(1), revisedAt: z.iso.datetime().nullable() };

/** A page of the digests of transactions, in the order of the account numbers. */
const TransactionDigests = z.discriminatedUnion("state", [
  z.object({
    state: z.literal("made"),
    digests: z.array(DigestContent.omit({ deals: true }).extend({ createdAt: z.iso.datetime(), ...Revised })),
    pagination: Pagination,
  }),
  NotMade,
]);
export type TransactionDigests = z.infer<typeof TransactionDigests>;

/** The digests of deals. An account without one has no deals on that day. */
const DealDigests = z.discriminatedUnion("state", [
  z.object({
    state: z.literal("made"),
    digests: z.array(DealsDigest.extend({ accountNumber: z.string(), ...Revised })),
  }),
  NotMade,
]);
export type DealDigests = z.infer<typeof DealDigests>;

const PATH = "/internal/servers/:serverId/digests";

/** The route of the finance service. */
export const TRANSACTION_DIGESTS_ROUTE = {
  method: "GET",
  path: PATH,
  callers: ["gateway"],
  query: ListDigestsQuery,
  answer: TransactionDigests,
} as const;

/** The route of the account service. */
export const DEAL_DIGESTS_ROUTE = {
  method: "POST",
  path: PATH,
  callers: ["gateway"],
  body: z.object({ date: DigestDate, accountNumbers: z.array(z.string().max(32)).max(MAX_ACCOUNTS) }),
  answer: DealDigests,
} as const;
