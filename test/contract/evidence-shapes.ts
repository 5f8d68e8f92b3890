/** The exact shapes of evidence (decisions, 20.1). */
import { z } from "zod";

const uuid = z.guid();
const time = z.iso.datetime();
const timeOrNull = time.nullable();
const text = z.string();
const integer = z.int();

const money = z.string().regex(/^-?\d+\.\d\d$/);
const EvidenceValuation = z.strictObject({
  kind: z.literal("valuation"),
  partition: integer,
  offset: integer,
  measuredAt: time,
  recordedAt: time,
  balance: money,
  equity: money,
  margin: money,
  freeMargin: money,
  openPositionCount: integer,
  netDeposits: money.nullable(),
});
const EvidenceSample = z.strictObject({
  kind: z.literal("sample"),
  sequence: integer.min(1),
  from: integer,
  to: integer,
  measuredAt: time,
  balance: money,
  equity: money,
  margin: money,
  freeMargin: money,
  openPositionCount: integer,
  intervalMinimumEquity: money,
  intervalMinimumMeasuredAt: time,
});
const evidence = {
  format: z.literal("kapi-evidence/1"),
  organizationId: uuid,
  serverId: uuid,
  accountNumber: text,
  currency: text,
  from: time,
  to: time,
  missing: z.array(z.strictObject({ what: text, reason: text, from: timeOrNull, to: timeOrNull })),
  createdAt: time,
  records: z.array(z.discriminatedUnion("kind", [EvidenceValuation, EvidenceSample])),
  chain: z.strictObject({ algorithm: text, headerHash: text, recordHashes: z.array(text), lastHash: text }),
  signature: z.strictObject({ algorithm: text, keyId: text, value: text }),
};
export const BreachEvidence = z.strictObject({
  ...evidence,
  kind: z.literal("breach"),
  rule: z.strictObject({
    id: text,
    version: integer,
    type: text,
    action: text,
    activeFrom: time,
    limit: z.strictObject({ unit: text, value: text }),
    parameters: z.record(text, text.nullable()),
  }),
  breach: z.strictObject({
    id: uuid,
    period: text,
    at: time,
    compared: text,
    side: text,
    reference: z.strictObject({ value: money, base: money, at: time }),
    threshold: money,
    value: money,
    valuationIndex: integer.nullable(),
    extremeValue: money,
    extremeAt: time,
    sequence: integer.nullable(),
    action: text,
    commandId: uuid.nullable(),
  }),
  positions: z
    .array(
      z.strictObject({
        positionId: text,
        symbol: text,
        side: text,
        volume: text,
        openPrice: text,
        price: text.nullable(),
        profit: money.nullable(),
      }),
    )
    .nullable(),
});

export const IntervalEvidence = z.strictObject({ ...evidence, kind: z.literal("interval") });
