/** Writes valuations and samples of accounts to the log, for tests of evidence. */
import { accountKey, type AccountMetricsFrame, OFFSETS_PER_GENERATION, TOPICS, type Valuation } from "@kapi/contracts";
import { encodeSampleHeaders } from "@kapi/contracts/codec";
import type { Producer } from "@kapi/kafka";
import { amountFromMinor, toIso, uuidV5 } from "@kapi/kernel";
import { anyAccountNumber, valuation } from "@kapi/testkit";

export const INITIAL_MINOR = 10_000_00;
/** Equity around the threshold of 9,500, in minor units, one value a second; the sixth breaches. */
export const EQUITIES = [
  9_900_00, 9_700_00, 9_650_00, 9_610_00, 9_500_01, 9_500_00, 9_431_20, 9_388_40, 9_460_00, 9_520_00,
];
/** Index in {@link EQUITIES} of the first value that breaches, and of the lowest value. */
export const BREACHING = 5;
export const LOWEST = 7;
export const VALUATIONS_PER_SAMPLE = 3;

/** The producer that writes, and the trading server of the accounts. */
export interface Writing {
  readonly producer: Producer;
  readonly serverId: string;
}

/** A valuation in the log. */
export interface Logged {
  readonly valuation: Valuation;
  readonly partition: number;
  readonly offset: number;
}

/** Writes the valuations of an account, between those of another account. */
export async function writeValuations(
  { producer, serverId }: Writing,
  accountNumber: string,
  firstMs: number,
): Promise<Logged[]> {
  const other = anyAccountNumber();
  const sends = EQUITIES.map(async (equityMinor, index): Promise<Logged> => {
    const measuredAt = toIso(firstMs + 1_000 * index);
    const values = { measuredAt, serverId, balanceMinor: INITIAL_MINOR, marginMinor: 1_080_00, equityMinor };
    const own = { ...valuation({ ...values, accountNumber }), netDepositsMinor: 0 };
    const foreign = { ...valuation({ ...values, accountNumber: other, equityMinor: 1 }), netDepositsMinor: 0 };
    const write = (one: Valuation) =>
      producer.send(TOPICS.tradingValuations, {
        key: accountKey(serverId, one.accountNumber),
        value: JSON.stringify(one),
      });
    const [{ partition, offset }] = await Promise.all([write(own), write(foreign)]);
    return { valuation: own, partition, offset: Number(offset) };
  });
  return Promise.all(sends);
}

/**
 * Writes the samples of the valuations, and one sample of a writer that had lost the partition.
 * `generation` is that of the topic of the valuations. Above 0, the samples continue after seven
 * samples of the generation before, which are not written.
 */
export async function writeSamples(
  { producer, serverId }: Writing,
  logged: readonly Logged[],
  generation = 0,
): Promise<void> {
  const first = generation * OFFSETS_PER_GENERATION;
  let [sequence, from] = generation === 0 ? [0, -1] : [7, first - OFFSETS_PER_GENERATION + 5_000];
  const before = sequence;
  for (let end = 0; end < logged.length; end += VALUATIONS_PER_SAMPLE) {
    const some = logged.slice(end, end + VALUATIONS_PER_SAMPLE);
    const last = some.at(-1);
    if (last === undefined) throw new TypeError("a sample without valuations");
    sequence += 1;
    const range = { sequence, from, to: first + last.offset };
    await writeSample({ producer, serverId }, some, range);
    if (sequence === before + 2) await writeSample({ producer, serverId }, some, { ...range, from: from - 1 });
    from = range.to;
  }
}

async function writeSample(
  { producer, serverId }: Writing,
  some: readonly Logged[],
  range: { readonly sequence: number; readonly from: number; readonly to: number },
): Promise<void> {
  const last = some.at(-1);
  const lowest = some.toSorted((one, two) => one.valuation.equityMinor - two.valuation.equityMinor)[0];
  if (last === undefined || lowest === undefined) throw new TypeError("a sample without valuations");
  const { accountNumber, measuredAt, marginLevel, openPositionCount } = last.valuation;
  const frame: AccountMetricsFrame = {
    type: "account.metrics",
    eventId: uuidV5(serverId, `${accountNumber}/${range.sequence}`),
    serverId,
    accountNumber,
    sequence: range.sequence,
    measuredAt,
    balance: amountFromMinor(last.valuation.balanceMinor),
    equity: amountFromMinor(last.valuation.equityMinor),
    margin: amountFromMinor(last.valuation.marginMinor),
    freeMargin: amountFromMinor(last.valuation.freeMarginMinor),
    marginLevel,
    openPositionCount,
    intervalMinimumEquity: amountFromMinor(lowest.valuation.equityMinor),
    intervalMinimumMeasuredAt: lowest.valuation.measuredAt,
  };
  await producer.send(TOPICS.metricsSamples, {
    key: accountKey(serverId, accountNumber),
    value: JSON.stringify(frame),
    headers: encodeSampleHeaders(range),
    partition: last.partition,
  });
}
