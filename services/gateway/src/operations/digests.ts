import { type AccountDigest, HEADERS, ListDigestsQuery, type TransactionDigests } from "@kapi/contracts";
import { digestHash, NO_RECORDS_HASH } from "@kapi/digests/hash";
import { ApiError } from "@kapi/http";
import { monotonicClock, toIso } from "@kapi/kernel";

import type { DealDigestsOfAccounts } from "../domain/ports.ts";
import type { OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { RequestValidator, removedServer } from "./validate.ts";

/** Retry-After while an owner has not made the digests of the day, in seconds. */
const RETRY_AFTER_SECONDS = "60";
const DATE_CHARACTERS = 10;
/**
 * Deadline of both reads together: with three calls to Redis of at most 0.6 s each, the answer
 * takes less than 5 s (decisions, 1.5). The first read has a deadline of 2.5 s, so at least half a
 * second is left for the second one.
 */
export const READS_TIMEOUT_MS = 3_000;

type MadeTransactions = Extract<TransactionDigests, { state: "made" }>;
type TransactionDigest = MadeTransactions["digests"][number];
type DealDigest = DealDigestsOfAccounts["digests"][number];

/**
 * Daily digests: finance returns a page of digests of transactions, and the account service returns
 * the digests of deals of the same accounts (decisions, 21).
 */
export function digestOperations({
  digests,
  clock,
}: Pick<Dependencies, "digests" | "clock">): OperationTable<"listDailyDigests"> {
  return {
    listDailyDigests: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const query = validator.query(call, ListDigestsQuery);
      const error = validator.error() ?? removedServer(call);
      if (error !== null || query === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
      const today = toIso(clock.nowMs()).slice(0, DATE_CHARACTERS);
      if (query.date >= today) return call.charge.reject(notOver(today));
      await call.charge.read();
      const startedMs = monotonicClock.nowMs();
      const transactions = made(await digests.transactions(serverId, query));
      const accountNumbers = transactions.digests.map(({ accountNumber }) => accountNumber);
      const leftMs = Math.max(0, Math.ceil(READS_TIMEOUT_MS - (monotonicClock.nowMs() - startedMs)));
      const deals = made(await digests.deals(serverId, query.date, accountNumbers, leftMs));
      const dealsOf = new Map(deals.digests.map((digest) => [digest.accountNumber, digest]));
      const answer = {
        date: query.date,
        digests: transactions.digests.map((digest) =>
          joined(serverId, query.date, digest, dealsOf.get(digest.accountNumber)),
        ),
        pagination: transactions.pagination,
      };
      return { status: 200, body: Buffer.from(JSON.stringify(answer)) };
    },
  };
}

function notOver(today: string): ApiError {
  const message = `must be a day that is over in UTC, where today is ${today}`;
  return new ApiError("VALIDATION_FAILED", { issues: [{ path: ["date"], code: "custom", message }] });
}

function made<T extends { readonly state: string }>(part: T): Extract<T, { state: "made" }> {
  if (part.state === "none") throw new ApiError("DIGEST_NOT_FOUND");
  if (part.state === "made") return part as Extract<T, { state: "made" }>;
  throw new ApiError("DIGEST_NOT_READY", { headers: { [HEADERS.retryAfter]: RETRY_AFTER_SECONDS } });
}

/** The digest of an account from its two parts. Every change of a part is one revision more. */
function joined(
  serverId: string,
  date: string,
  { revision, createdAt, revisedAt, ...transactions }: TransactionDigest,
  found: DealDigest | undefined,
): AccountDigest {
  const { revision: dealRevision = 1, revisedAt: dealsRevisedAt = null } = found ?? {};
  const { count = 0, commission = 0, realizedPnl = 0, swap = 0, hash = NO_RECORDS_HASH } = found ?? {};
  const content = { ...transactions, deals: { count, commission, realizedPnl, swap, hash } };
  return {
    date,
    ...content,
    hash: digestHash(serverId, date, content),
    revision: revision + dealRevision - 1,
    createdAt,
    revisedAt: later(revisedAt, dealsRevisedAt),
  };
}

function later(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}
