import { accountKey, HEADERS, type IntervalEvidenceQuery, TOPICS, type AccountRef } from "@kapi/contracts";
import { buildEvidence, type EvidenceSigner } from "@kapi/evidence";
import { ApiError, tooManyConcurrentRequests } from "@kapi/http";
import { type Clock, OrganizationSlots, toIso } from "@kapi/kernel";

import { chooseRecords, MAX_SAMPLES, MAX_VALUATIONS } from "../domain/evidence.ts";
import type { AccountForRisk, EvidenceStore, ReadAccount, ReadAccountLog } from "../domain/ports.ts";

/** Maximum number of intervals that a process reads from the log at once. */
const MAX_CONCURRENT_INTERVALS = 4;
/** Maximum number of intervals that a process reads at once for one organization. */
const MAX_INTERVALS_PER_ORGANIZATION = 2;
/** Deadline of reading the log: below the deadline of the gateway's call (4 s). */
const READ_TIMEOUT_MS = 3_000;
const SECOND_MS = 1_000;
/** Time for collecting due evidence; `Retry-After` adds it to the time until evidence is due. */
const MIN_PENDING_MS = 5_000;

/**
 * Reads the evidence of a breach: a signed document, as JSON.
 * @throws ApiError BREACH_NOT_FOUND, EVIDENCE_PENDING with Retry-After, or EVIDENCE_NOT_FOUND.
 */
export async function readBreachEvidence(
  { store, clock }: { readonly store: Pick<EvidenceStore, "read">; readonly clock: Clock },
  account: AccountRef,
  breachId: string,
): Promise<string> {
  const evidence = await store.read(account, breachId);
  if (evidence === null) throw new ApiError("BREACH_NOT_FOUND");
  if (evidence.status === "stored") return evidence.document;
  if (evidence.status === "none") throw new ApiError("EVIDENCE_NOT_FOUND");
  const waitMs = Math.max(evidence.dueAtMs - clock.nowMs(), 0) + MIN_PENDING_MS;
  const seconds = String(Math.ceil(waitMs / SECOND_MS));
  throw new ApiError("EVIDENCE_PENDING", { headers: { [HEADERS.retryAfter]: seconds } });
}

interface IntervalEvidenceDependencies {
  readonly readAccount: ReadAccount;
  readonly readLog: ReadAccountLog;
  readonly partitionOf: (account: AccountRef) => number;
  readonly signer: EvidenceSigner;
  readonly clock: Clock;
}

/** Reads evidence of an interval from the log, and returns the signed document as JSON. */
export type ReadIntervalEvidence = (account: AccountRef, query: IntervalEvidenceQuery) => Promise<string>;

/**
 * Creates the function that reads evidence of intervals. It rejects with an ApiError for an unknown
 * account, and for an interval that is too old, ends in the future, or has too many records. The
 * error is TOO_MANY_CONCURRENT_REQUESTS if the process already reads the maximum number of
 * intervals for the account's organization, or for all organizations together.
 */
export function createIntervalEvidence(dependencies: IntervalEvidenceDependencies): ReadIntervalEvidence {
  const slots = new OrganizationSlots({
    perOrganization: MAX_INTERVALS_PER_ORGANIZATION,
    total: MAX_CONCURRENT_INTERVALS,
  });
  return async (account, { from, to }) => {
    const [fromMs, toMs, nowMs] = [Date.parse(from), Date.parse(to), dependencies.clock.nowMs()];
    if (toMs > nowMs) throw invalid("to", "must not be in the future");
    if (fromMs < nowMs - TOPICS.metricsSamples.retentionMs) throw invalid("from", "must be within the last 24 hours");
    // Evidence comes from the log alone, so it is available while the trading server is not.
    const known = await dependencies.readAccount(account, { valuation: "none" });
    if (known === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    const release = slots.take(known.organizationId);
    if (release === null) throw tooManyConcurrentRequests();
    try {
      return await readInterval(dependencies, { ...account, ...known }, { fromMs, toMs, nowMs });
    } finally {
      release();
    }
  };
}

async function readInterval(
  { readLog, partitionOf, signer }: IntervalEvidenceDependencies,
  { serverId, accountNumber, organizationId, currency }: AccountRef & AccountForRisk,
  { fromMs, toMs, nowMs }: { readonly fromMs: number; readonly toMs: number; readonly nowMs: number },
): Promise<string> {
  const key = accountKey(serverId, accountNumber);
  const range = {
    partition: partitionOf({ serverId, accountNumber }),
    keys: new Set([key]),
    fromMs,
    toMs,
    offsets: [],
  };
  const recordsOf = await readLog({ ...range, timeoutMs: READ_TIMEOUT_MS });
  const { valuations, samples, missing, ...interval } = chooseRecords(recordsOf(key), {
    fromMs,
    toMs,
    around: null,
    isOfDeletedTopic: false,
  });
  if (missing.some(({ reason }) => reason === "limit")) {
    throw invalid("to", `more than ${MAX_VALUATIONS} valuations or ${MAX_SAMPLES} samples: ask for a shorter interval`);
  }
  const document = buildEvidence(
    {
      kind: "interval",
      organizationId,
      serverId,
      accountNumber,
      currency,
      ...interval,
      missing: [...missing],
      createdAt: toIso(nowMs),
    },
    [...valuations.map(({ evidence }) => evidence), ...samples],
    signer,
  );
  return JSON.stringify(document);
}

function invalid(field: string, message: string): ApiError {
  return new ApiError("VALIDATION_FAILED", { issues: [{ path: [field], code: "custom", message }] });
}
