/** Translates messages of kapi into the parts of a document. */
import type { AccountMetricsFrame, EvidenceHeader, EvidenceRecord, RiskRule, Valuation } from "@kapi/contracts";
import { assert, assertDefined, minorFromAmount, toIso } from "@kapi/kernel";

import { decimalText, moneyText } from "./decimal-text.ts";

type ValuationEvidence = Extract<EvidenceRecord, { kind: "valuation" }>;
type SampleEvidence = Extract<EvidenceRecord, { kind: "sample" }>;
type EvidenceRule = Extract<EvidenceHeader, { kind: "breach" }>["rule"];

/** Fields of a rule that are not among the `parameters` of the rule in evidence. */
const NAMED = new Set(["id", "type", "action", "limit", "target"]);

/** The values of a valuation that are in evidence. */
type ValuationValues = Pick<
  Valuation,
  "measuredAt" | "balanceMinor" | "equityMinor" | "marginMinor" | "freeMarginMinor" | "openPositionCount"
> & { readonly netDepositsMinor?: number | null | undefined };

/** Where a valuation is in `trading.valuations`, and the time of its record. */
export interface ValuationPosition {
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
}

/** A valuation of the topic `trading.valuations`. */
export function toValuationEvidence(
  valuation: ValuationValues,
  { partition, offset, timestampMs }: ValuationPosition,
): ValuationEvidence {
  const { netDepositsMinor } = valuation;
  return {
    kind: "valuation",
    partition,
    offset,
    measuredAt: valuation.measuredAt,
    recordedAt: toIso(timestampMs),
    balance: moneyText(valuation.balanceMinor),
    equity: moneyText(valuation.equityMinor),
    margin: moneyText(valuation.marginMinor),
    freeMargin: moneyText(valuation.freeMarginMinor),
    openPositionCount: valuation.openPositionCount,
    netDeposits: typeof netDepositsMinor === "number" ? moneyText(netDepositsMinor) : null,
  };
}

/**
 * A sample of the topic `metrics.samples`. `from` and `to` are offsets. The headers of the sample's
 * Kafka record have positions instead (`OFFSETS_PER_GENERATION`).
 */
export function toSampleEvidence(
  frame: AccountMetricsFrame,
  { from, to }: { readonly from: number; readonly to: number },
): SampleEvidence {
  return {
    kind: "sample",
    sequence: frame.sequence,
    from,
    to,
    measuredAt: frame.measuredAt,
    balance: amountText(frame.balance),
    equity: amountText(frame.equity),
    margin: amountText(frame.margin),
    freeMargin: amountText(frame.freeMargin),
    openPositionCount: frame.openPositionCount,
    intervalMinimumEquity: amountText(frame.intervalMinimumEquity),
    intervalMinimumMeasuredAt: frame.intervalMinimumMeasuredAt,
  };
}

/**
 * A rule in one version.
 * @param activeFrom valuations that were measured after this time were compared with this version.
 */
export function toEvidenceRule(rule: RiskRule, version: number, activeFrom: string): EvidenceRule {
  const { id, type, action } = rule;
  const { percent, amount } = rule.type === "profitTarget" ? rule.target : rule.limit;
  const parameters = Object.entries(rule)
    .filter(([name, value]) => !NAMED.has(name) && value !== undefined)
    .map(([name, value]) => [name, parameterText(value)] as const);
  return {
    id,
    version,
    type,
    action,
    activeFrom,
    limit:
      amount === undefined
        ? { unit: "percent", value: decimalText(assertDefined(percent, "the percentage of a limit")) }
        : { unit: "amount", value: amountText(amount) },
    parameters: Object.fromEntries(parameters),
  };
}

function parameterText(value: unknown): string {
  if (typeof value === "number") return decimalText(value);
  assert(typeof value === "string", "a parameter of a rule must be text or a number");
  return value;
}

function amountText(amount: number): string {
  return moneyText(assertDefined(minorFromAmount(amount), "an amount in whole cents"));
}
