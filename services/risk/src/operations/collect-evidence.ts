/**
 * Collects the evidence of breaches from the log, when their `evidence_due_at` has passed. One pass
 * over a partition serves up to {@link MAX_TOGETHER} due breaches that are close in time.
 * A former owner of the partition can still collect evidence. Of two documents of a breach, only
 * the first is stored.
 */
import type { CommandStore } from "@kapi/commands";
import { accountKey, type EvidencePosition, type MissingEvidence, type RiskEvent, TOPICS } from "@kapi/contracts";
import { buildEvidence, type EvidenceSigner } from "@kapi/evidence";
import { amountFromMinor, type Clock, toIso, uuidV5 } from "@kapi/kernel";
import { counter, type Logger } from "@kapi/runtime";

import {
  breachedAt,
  type ChosenRecords,
  chooseRecords,
  claimOf,
  EVIDENCE_WINDOW_MS,
  type Extreme,
  extremeOf,
  hasAllSamples,
  sequenceOf,
  type UnprovenBreach,
} from "../domain/evidence.ts";
import type { EvidenceStore, NewEvidence, ReadAccountLog, ReadPositions } from "../domain/ports.ts";

/** Maximum number of due breaches in one round. */
const MAX_DUE = 200;
/** Maximum number of breaches whose records are in memory together. */
const MAX_TOGETHER = 20;
/** Maximum time between the breaches that one pass over the log serves. */
const MAX_SPAN_MS = 300_000;
/** Deadline of one pass over the log. */
const READ_TIMEOUT_MS = 16_000;
/** Pause before incomplete evidence is collected again. */
const RETRY_AFTER_MS = 10_000;
/**
 * If parts are still missing this long after a breach was recorded, its evidence is stored without
 * them. A trading server has to keep quotes for only 5 minutes.
 */
const MAX_WAIT_MS = 240_000;
/** Time after the recording of a breach until evidence that cannot be collected is given up. */
const GIVE_UP_AFTER_MS = 3_600_000;

const stored = counter("risk.evidence.stored", "Stored evidence of breaches, by `complete`", "{document}");
const failed = counter("risk.evidence.failed", "Failed attempts to collect evidence, by `given_up`", "{attempt}");

interface EvidenceDependencies {
  readonly store: Pick<EvidenceStore, "due" | "add" | "postpone" | "giveUp">;
  readonly commands: Pick<CommandStore, "transact">;
  readonly readLog: ReadAccountLog;
  readonly readPositions: ReadPositions;
  readonly signer: EvidenceSigner;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Collects the evidence that is due on these partitions. */
export async function collectEvidence(
  dependencies: EvidenceDependencies,
  partitions: readonly number[],
): Promise<void> {
  if (partitions.length === 0) return;
  /**
   * Servers with a breach whose evidence failed in this round, after the log was read. The round
   * skips all further breaches of these servers, so that they do not delay other servers.
   */
  const failing = new Set<string>();
  for (const group of groupsOf(await dependencies.store.due(partitions, MAX_DUE))) {
    try {
      await collectGroup(dependencies, group, failing);
    } catch (error) {
      await putOff(dependencies, group, error);
    }
  }
}

/** Puts due breaches into groups: those of a group are on one partition, and close in time. */
function groupsOf(due: readonly UnprovenBreach[]): UnprovenBreach[][] {
  const groups: UnprovenBreach[][] = [];
  const inOrder = due.toSorted((one, two) => one.partition - two.partition || one.measuredAtMs - two.measuredAtMs);
  for (const one of inOrder) {
    const group = groups.at(-1);
    const first = group?.[0];
    const isNear = first?.partition === one.partition && one.measuredAtMs - first.measuredAtMs <= MAX_SPAN_MS;
    if (group !== undefined && isNear && group.length < MAX_TOGETHER) group.push(one);
    else groups.push([one]);
  }
  return groups;
}

async function collectGroup(
  dependencies: EvidenceDependencies,
  all: readonly UnprovenBreach[],
  failing: Set<string>,
): Promise<void> {
  const group = all.filter(({ breach }) => !failing.has(breach.serverId));
  const [first] = group;
  if (first === undefined) return;
  const times = group.map(({ measuredAtMs }) => measuredAtMs);
  const recordsOf = await dependencies.readLog({
    partition: first.partition,
    keys: new Set(group.map(keyOf)),
    fromMs: Math.min(...times) - EVIDENCE_WINDOW_MS,
    toMs: Math.max(...times) + EVIDENCE_WINDOW_MS,
    timeoutMs: READ_TIMEOUT_MS,
    offsets: group.flatMap(({ valuationOffset }) => (valuationOffset === null ? [] : [valuationOffset])),
  });
  for (const unproven of group) {
    try {
      const chosen = chooseRecords(recordsOf(keyOf(unproven)), {
        fromMs: unproven.measuredAtMs - EVIDENCE_WINDOW_MS,
        toMs: unproven.measuredAtMs + EVIDENCE_WINDOW_MS,
        around: unproven.valuationOffset,
        isOfDeletedTopic: unproven.isOfDeletedTopic,
      });
      if (!failing.has(unproven.breach.serverId)) await prove(dependencies, unproven, chosen);
    } catch (error) {
      failing.add(unproven.breach.serverId);
      await putOff(dependencies, [unproven], error);
    }
  }
}

/**
 * Makes and stores the document of a breach. Before the time of {@link lastMomentOf}, missing
 * samples postpone the evidence, and unavailable positions or prices make this function reject.
 */
async function prove(
  dependencies: EvidenceDependencies,
  unproven: UnprovenBreach,
  chosen: ChosenRecords,
): Promise<void> {
  const { store, commands, clock, logger } = dependencies;
  const nowMs = clock.nowMs();
  const canWait = nowMs < lastMomentOf(unproven);
  if (!hasAllSamples(chosen) && canWait) {
    return store.postpone([unproven.breach.id], toIso(nowMs + RETRY_AFTER_MS));
  }
  const extreme = extremeOf(unproven, chosen.valuations);
  const atExtreme = await positionsAt(dependencies, unproven, extreme.at, canWait);
  // If no position was open at the extreme, the breach's action has perhaps closed all positions.
  // Then the evidence has the positions that were open at the breach.
  const isFlat = atExtreme.positions?.length === 0;
  const positions = isFlat
    ? await positionsAt(dependencies, unproven, breachedAt(unproven, chosen.valuations), canWait)
    : atExtreme;
  const evidence = sign(
    dependencies,
    unproven,
    { ...chosen, missing: [...chosen.missing, ...positions.missing] },
    {
      extreme,
      positions: positions.positions,
    },
  );
  const isNew = await commands.transact(async (transaction) => {
    const isFirst = await store.add(transaction, evidence, toIso(clock.nowMs()));
    if (isFirst) {
      const value = JSON.stringify(eventOf(evidence, clock.nowMs()));
      transaction.enqueue([{ topic: TOPICS.riskEvents, key: keyOf(unproven), value }]);
    }
    return isFirst;
  });
  if (!isNew) return;
  const isComplete = chosen.missing.length === 0 && positions.missing.length === 0;
  stored.add(1, { complete: isComplete });
  logger.info({ breachId: unproven.breach.id, isComplete }, "stored the evidence of a breach");
}

/**
 * The positions that were open at a time, with their prices. `missing` names what the document
 * lacks. With `canWait`, rejects if the account service cannot give positions or prices now.
 */
async function positionsAt(
  { readPositions, logger }: EvidenceDependencies,
  { breach: { serverId, accountNumber } }: UnprovenBreach,
  at: string,
  canWait: boolean,
): Promise<{ positions: readonly EvidencePosition[] | null; missing: readonly MissingEvidence[] }> {
  const missing = (what: "positions" | "prices"): MissingEvidence => ({
    what,
    reason: "unavailable",
    from: null,
    to: null,
  });
  try {
    const open = await readPositions({ serverId, accountNumber }, at, { needsPrices: canWait });
    if (open === null) return { positions: null, missing: [missing("positions")] };
    const { positions, isCut } = open;
    const isPriced = positions.every(({ price }) => price !== null);
    const cut: readonly MissingEvidence[] = isCut ? [{ ...missing("positions"), reason: "limit" }] : [];
    return { positions, missing: [...cut, ...(isPriced ? [] : [missing("prices")])] };
  } catch (error) {
    if (canWait) throw error;
    logger.warn({ err: error, serverId, accountNumber }, "evidence is stored without positions");
    return { positions: null, missing: [missing("positions")] };
  }
}

function sign(
  { signer, clock }: EvidenceDependencies,
  unproven: UnprovenBreach,
  chosen: ChosenRecords,
  { extreme, positions }: { readonly extreme: Extreme; readonly positions: readonly EvidencePosition[] | null },
): NewEvidence {
  const claim = claimOf(unproven, chosen, positions, extreme, toIso(clock.nowMs()));
  const records = [...chosen.valuations.map(({ evidence }) => evidence), ...chosen.samples];
  const document = JSON.stringify(buildEvidence(claim, records, signer));
  return { unproven, sequence: sequenceOf(unproven, chosen.samples), extreme, document };
}

function eventOf({ unproven, sequence, extreme }: NewEvidence, nowMs: number): RiskEvent {
  const { breach, organizationId } = unproven;
  const { serverId, accountNumber } = breach;
  const extremeAt = toIso(Date.parse(extreme.at));
  return {
    eventId: uuidV5(breach.id, "evidence"),
    organizationId,
    serverId,
    accountNumber,
    occurredAt: toIso(nowMs),
    type: "risk.evidence_stored",
    breach: {
      ...breach,
      evidence: { status: "stored", sequence, extremeValue: amountFromMinor(extreme.valueMinor), extremeAt },
    },
  };
}

/** Collects the evidence again later, or gives it up. */
async function putOff(
  { store, clock, logger }: EvidenceDependencies,
  group: readonly UnprovenBreach[],
  error: unknown,
): Promise<void> {
  const nowMs = clock.nowMs();
  const [hopeless, others] = [
    group.filter(({ breach }) => nowMs > Date.parse(breach.recordedAt) + GIVE_UP_AFTER_MS),
    group.filter(({ breach }) => nowMs <= Date.parse(breach.recordedAt) + GIVE_UP_AFTER_MS),
  ];
  const idsOf = (some: readonly UnprovenBreach[]): string[] => some.map(({ breach }) => breach.id);
  if (others.length > 0) {
    failed.add(others.length, { given_up: false });
    logger.warn({ err: error, breachIds: idsOf(others) }, "evidence cannot be collected yet");
    await store.postpone(idsOf(others), toIso(nowMs + RETRY_AFTER_MS));
  }
  if (hopeless.length > 0) {
    failed.add(hopeless.length, { given_up: true });
    logger.error({ err: error, breachIds: idsOf(hopeless) }, "breaches get no evidence");
    await store.giveUp(idsOf(hopeless));
  }
}

/** Until when evidence waits for late samples, positions and prices. */
function lastMomentOf({ breach }: UnprovenBreach): number {
  return Date.parse(breach.recordedAt) + MAX_WAIT_MS;
}

function keyOf({ breach: { serverId, accountNumber } }: UnprovenBreach): string {
  return accountKey(serverId, accountNumber);
}
