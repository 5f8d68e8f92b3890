/** Reads valuations and samples of accounts from the log, for evidence. */
import { AccountMetricsFrame, TOPICS, type TopicContract } from "@kapi/contracts";
import { decodeSampleHeaders, decodeValuation } from "@kapi/contracts/codec";
import { toValuationEvidence } from "@kapi/evidence";
import { type KafkaConnection, type Message, readLogRange } from "@kapi/kafka";
import type { Clock } from "@kapi/kernel";

import type { LoggedSample, LoggedValuation } from "../../domain/evidence.ts";
import type { ReadAccountLog } from "../../domain/ports.ts";

/** Maximum time by which `measuredAt` of a valuation is later than the time of its record. */
const MAX_AHEAD_MS = 5_000;
/** Maximum time by which `measuredAt` of a valuation is earlier than the time of its record. */
const MAX_LATE_MS = 60_000;
/** Maximum number of records of one account and topic that are kept in memory. */
const MAX_ACCOUNT_RECORDS = 40_000;

/**
 * Creates the reader. Each call reads a part of one partition of `trading.valuations`, and of the
 * partition of `metrics.samples` with the same number.
 * @param grownAtMs when the topics grew last, in milliseconds since the epoch; negative infinity if
 * they never grew. Most accounts have their earlier records on another partition, so a range
 * that begins before this time counts as cut.
 */
export function createAccountLog(kafka: KafkaConnection, clock: Clock, grownAtMs: number): ReadAccountLog {
  return async ({ partition, keys, fromMs, toMs, offsets, timeoutMs }) => {
    const endMs = performance.now() + timeoutMs;
    const valuations = new Map<string, LoggedValuation[]>([...keys].map((key) => [key, []]));
    const samples = new Map<string, LoggedSample[]>([...keys].map((key) => [key, []]));
    const full = new Set<string>();
    const add = <T>(lists: ReadonlyMap<string, T[]>, key: string, one: T): void => {
      const list = lists.get(key);
      if (list === undefined || list.length >= MAX_ACCOUNT_RECORDS) full.add(key);
      else list.push(one);
    };
    const read = async (topic: TopicContract, each: (message: Message) => void, including: readonly number[]) => {
      const { isCut } = await readLogRange(
        kafka,
        {
          topic,
          partition,
          fromMs: fromMs - MAX_AHEAD_MS,
          toMs: toMs + MAX_LATE_MS,
          including: including.map(BigInt),
        },
        {
          timeoutMs: Math.max(1, Math.ceil(endMs - performance.now())),
          onMessages: (messages) => {
            for (const message of messages) if (keys.has(message.key)) each(message);
          },
        },
      );
      // The log of a quiet partition can begin inside the range although no record of the range was
      // deleted. Only records older than the retention are deleted, so a range that is not older
      // than the retention is complete.
      return (isCut && clock.nowMs() - fromMs > (topic.retentionMs ?? 0)) || fromMs < grownAtMs;
    };
    const isCut = {
      valuations: await read(
        TOPICS.tradingValuations,
        (message) => {
          const valuation = toLogged(partition, message);
          if (valuation !== null) add(valuations, message.key, valuation);
        },
        offsets,
      ),
      samples: await read(
        TOPICS.metricsSamples,
        (message) => {
          const sample = toSample(message);
          if (sample !== null) add(samples, message.key, sample);
        },
        [],
      ),
    };
    return (key) => ({
      valuations: valuations.get(key) ?? [],
      samples: samples.get(key) ?? [],
      isCut,
      isFull: full.has(key),
    });
  };
}

/** Null for a record that the evaluation could not read either. */
function toLogged(partition: number, { key, value, offset, timestampMs }: Message): LoggedValuation | null {
  const decoded = decodeValuation(key, value, Number(offset));
  if ("fault" in decoded) return null;
  const { measuredAtMs, equityMinor, balanceMinor } = decoded.valuation;
  const evidence = toValuationEvidence(decoded.valuation, { partition, offset: Number(offset), timestampMs });
  return { evidence, measuredAtMs, equityMinor, balanceMinor };
}

/** Null for a record that is no sample, such as the tombstone of a deleted account. */
function toSample({ value, headers }: Message): LoggedSample | null {
  const range = decodeSampleHeaders(headers);
  if (range === null) return null;
  const frame = AccountMetricsFrame.safeParse(jsonOf(value));
  return frame.success && frame.data.sequence === range.sequence ? { frame: frame.data, range } : null;
}

function jsonOf(value: Buffer): unknown {
  try {
    return JSON.parse(value.toString("utf8"));
  } catch {
    return undefined;
  }
}
