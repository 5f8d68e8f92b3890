/** The digests of deals (decisions, 21). */
import type { DealsDigest } from "@kapi/contracts";

/** The digest of an account's deals on one day. */
export interface DealDigest extends DealsDigest {
  readonly accountNumber: string;
  readonly revision: number;
  readonly revisedAt: string | null;
}

/**
 * Reads the digests that the account service has made. A day is `YYYY-MM-DD` in UTC. Ask for the
 * `state` of a day first: before a day is `made`, `find` may return only some of its digests.
 */
export interface DealDigestReader {
  /**
   * `made`: all digests of the day exist. `pending`: they will be made later. `none`: the server
   * has no digests of this day.
   */
  state(serverId: string, day: string): Promise<"made" | "pending" | "none">;
  /** The digests of these accounts, in any order; none for an account without deals on this day. */
  find(serverId: string, day: string, accountNumbers: readonly string[]): Promise<DealDigest[]>;
}
