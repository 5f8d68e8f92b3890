/** Reads of the digests of transactions (decisions, 21). */
import type { DigestContent } from "@kapi/contracts";

/** The digest of an account's transactions on one day. */
export interface TransactionDigest extends Omit<DigestContent, "deals"> {
  readonly revision: number;
  readonly createdAt: string;
  readonly revisedAt: string | null;
}

/** The digests to read: at most `limit` after the first `offset` ones. */
export interface DigestRange {
  readonly offset: number;
  readonly limit: number;
  /** Only account numbers after this one; null: all. */
  readonly after: string | null;
}

/**
 * Reads the digests that finance has made. A day is `YYYY-MM-DD` in UTC. Ask for the `state` of a
 * day first: if not all digests of the day are made, `page` may return some of them.
 */
export interface DigestReader {
  /** `pending`: the day's digests will be made. `none`: the server has no digests of the day. */
  state(serverId: string, day: string): Promise<"made" | "pending" | "none">;
  /** Digests of a day, sorted by account number. `total` counts all digests of the day. */
  page(serverId: string, day: string, range: DigestRange): Promise<{ rows: TransactionDigest[]; total: number }>;
}
