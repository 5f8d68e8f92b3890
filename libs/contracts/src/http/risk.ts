import { minorFromAmount, nearestDecimal } from "@kapi/kernel";
import { z } from "zod";

import { RequestId } from "../values.ts";
import { Amount, RequestBody } from "./accounts.ts";
import { checkedPageQuery, cursorFields, Pagination, TIME_FIELDS } from "./pagination.ts";

/** Maximum number of rules of one account. */
export const MAX_RISK_RULES = 10;
/** Maximum number of characters of a rule's id. */
const MAX_RULE_ID_CHARACTERS = 64;
/** Percentages have at most this many decimals, so that limits are computed exactly. */
export const PERCENT_DECIMALS = 4;
const PERCENT_UNITS = 10 ** PERCENT_DECIMALS;
/**
 * A percentage may differ by this from its value rounded to {@link PERCENT_DECIMALS} decimals: most
 * decimal numbers have no exact binary value.
 */
const PERCENT_TOLERANCE = 1e-9;

/**
 * A percentage in integer units of 10^-{@link PERCENT_DECIMALS}; null if it has more decimals.
 */
export function percentUnits(percent: number): number | null {
  const units = Math.round(percent * PERCENT_UNITS);
  return Math.abs(percent - units / PERCENT_UNITS) <= PERCENT_TOLERANCE ? units : null;
}

const Percent = z
  .number()
  .positive()
  .max(100)
  .refine((percent) => nearestDecimal(percent, PERCENT_DECIMALS) !== null, {
    error: `must have at most ${PERCENT_DECIMALS} decimals`,
  })
  .overwrite((percent) => nearestDecimal(percent, PERCENT_DECIMALS) ?? percent);

/** The id of a rule, chosen by the caller; unique among the rules of an account. */
export const RiskRuleId = z
  .string()
  .min(1)
  .max(MAX_RULE_ID_CHARACTERS)
  .regex(/^[A-Za-z0-9._-]+$/, "must have only letters, digits, '.', '_' and '-'");

/** A share of a reference value, or an amount of money: exactly one of the two. */
export const RiskLimit = z
  .object({ percent: Percent.optional(), amount: Amount.positive().optional() })
  .refine(({ percent, amount }) => (percent === undefined) !== (amount === undefined), {
    error: "either percent or amount must be given",
  });
export type RiskLimit = z.infer<typeof RiskLimit>;

/** What kapi does when a rule is breached. */
export const RISK_ACTIONS = ["notify", "close_only", "disable", "flatten_and_disable"] as const;
export const RiskAction = z.enum(RISK_ACTIONS);
export type RiskAction = z.infer<typeof RiskAction>;

/** The value of an account that a rule compares or starts from. */
export const RiskBasis = z.enum(["equity", "balance"]);
/** The value at the start of a day from which a daily loss counts; `higher`: the higher of both. */
export const DailyLossBasis = z.enum(["equity", "balance", "higher"]);

/** An IANA time zone that this process knows. */
export const TimeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, { error: "must be an IANA time zone, such as Europe/London" });

function isTimeZone(name: string): boolean {
  // Offsets such as "+01:00" have no daylight saving time, so they are rejected.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

const COMMON = {
  id: RiskRuleId,
  /** Percent of the limit at which `risk.warning` is sent; absent: no warning. */
  warnAt: Percent.min(1).max(99).optional(),
  action: RiskAction,
};

/** The loss since the start of a day. */
export const DailyLossRule = z.object({
  ...COMMON,
  type: z.literal("dailyLoss"),
  limit: RiskLimit,
  basis: DailyLossBasis,
  timeZone: TimeZone.default("UTC"),
  /** The local time at which a day starts. */
  dayStart: z
    .string()
    .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, "must be a local time such as 17:00")
    .default("00:00"),
});

/** The loss from a fixed value, or from the highest value. */
export const MaxLossRule = z.object({
  ...COMMON,
  type: z.literal("maxLoss"),
  limit: RiskLimit,
  /** Absent: the loss counts from `startValue`. Otherwise from the highest equity or balance. */
  trailing: RiskBasis.optional(),
  /** The value from which the loss counts at first; absent: the initial balance of the account. */
  startValue: Amount.positive().optional(),
  /**
   * Only with `trailing`: the threshold never rises above this equity, plus the deposits minus the
   * withdrawals since the rule was set.
   */
  lockAt: Amount.optional(),
});

/**
 * The profit above `startValue`; absent: above the initial balance. Reaching the target is reported
 * as a breach, like a loss.
 */
export const ProfitTargetRule = z.object({
  ...COMMON,
  type: z.literal("profitTarget"),
  target: RiskLimit,
  /** The value that must reach the target. */
  basis: RiskBasis,
  startValue: Amount.positive().optional(),
});

export const RISK_RULE_TYPES = ["dailyLoss", "maxLoss", "profitTarget"] as const;

/** One rule of an account. */
export const RiskRule = z.discriminatedUnion("type", [DailyLossRule, MaxLossRule, ProfitTargetRule]);
export type RiskRule = z.infer<typeof RiskRule>;

/** All rules of an account. Rules that contradict themselves or each other are rejected. */
export const RiskRules = z.array(RiskRule).min(1).max(MAX_RISK_RULES).superRefine(rejectContradictions);

/** Body of setRiskRules. */
export const SetRiskRulesBody = z.object({ rules: RiskRules, requestId: RequestId });
export type SetRiskRulesBody = z.infer<typeof SetRiskRulesBody>;

/** Query of deleteRiskRules. */
export const DeleteRiskRulesQuery = RequestBody.extend({
  /** True: the account gets the rules of the template that matches it. */
  useTemplate: z
    .literal("true")
    .transform(() => true)
    .optional(),
});
export type DeleteRiskRulesQuery = z.infer<typeof DeleteRiskRulesQuery>;

/** The template, and its version, that the rules of an account came from. */
export const RiskRulesTemplate = z.object({ name: z.string(), version: z.int().min(1) });

/** The rules of an account as the API shows them. */
export const AccountRiskRules = z.object({
  serverId: z.guid(),
  accountNumber: z.string(),
  /** Rises by one with each change; 0: the account never had rules. */
  version: z.int().min(0),
  rules: z.array(RiskRule),
  /** The command that made this version; null for version 0. */
  commandId: z.uuid().nullable(),
  /** Since when valuations are compared with these rules; null for version 0. */
  activeFrom: z.iso.datetime().nullable(),
  /** The template that the rules came from; null for rules set on the account, or without rules. */
  template: RiskRulesTemplate.nullable(),
});
export type AccountRiskRules = z.infer<typeof AccountRiskRules>;

/** Answer of getRiskRules. */
export const RiskRulesAnswer = z.object({ riskRules: AccountRiskRules });

/**
 * The breach of a rule in a period, or the warning that `warnAt` percent of its limit were reached.
 * Money in units of currency. `reference` and `threshold` include the deposits minus the
 * withdrawals between the time of the reference value and the breach or warning. So both can be
 * compared with `value`.
 */
export const RiskAlert = z.object({
  id: z.uuid(),
  /** The rule in the version that was breached, or that gave the warning. */
  rule: RiskRule,
  ruleVersion: z.int().min(1),
  /** Local date of a daily rule; `lifetime` for every other rule. */
  period: z.string(),
  /** The value from which the loss or profit counts. */
  reference: z.number(),
  /** The value at which the rule is breached. */
  threshold: z.number(),
  /** The value that was compared. */
  value: z.number(),
  equity: z.number(),
  balance: z.number(),
  measuredAt: z.iso.datetime(),
  action: RiskAction,
  /** The command of the action; null for `notify` and for a warning. */
  commandId: z.uuid().nullable(),
});
export type RiskAlert = z.infer<typeof RiskAlert>;

/**
 * Whether evidence is stored. `none`: it was deleted after its retention, or could not be collected
 * within an hour.
 */
export const EvidenceStatus = z.enum(["pending", "stored", "none"]);

/** What evidence a breach has (decisions, 20), and what the evidence shows. */
export const BreachEvidenceState = z.object({
  status: EvidenceStatus,
  /**
   * Sequence of the live sample that includes the breach. Null if evidence is not stored, or if no
   * sample includes the breach.
   */
  sequence: z.int().min(1).nullable(),
  /**
   * The value furthest beyond the threshold in the minute after the breach; null without stored
   * evidence.
   */
  extremeValue: z.number().nullable(),
  extremeAt: z.iso.datetime().nullable(),
});
export type BreachEvidenceState = z.infer<typeof BreachEvidenceState>;

/** A breach as the API shows it. */
export const RiskBreach = RiskAlert.extend({
  serverId: z.guid(),
  accountNumber: z.string(),
  recordedAt: z.iso.datetime(),
  evidence: BreachEvidenceState,
});
export type RiskBreach = z.infer<typeof RiskBreach>;

/** Query of listRiskBreaches; `from` and `to` filter by `measuredAt`. */
export const ListRiskBreachesQuery = checkedPageQuery(
  z.object({ ...cursorFields("breaches"), ...TIME_FIELDS, ruleId: RiskRuleId.optional() }),
);
export type ListRiskBreachesQuery = z.infer<typeof ListRiskBreachesQuery>;

/** Answer of listRiskBreaches, newest first. */
export const RiskBreachesAnswer = z.object({ breaches: z.array(RiskBreach), pagination: Pagination });

/** Tolerance in minor units, because a percentage is computed with floating-point numbers. */
const ROUNDING_MINOR = 1e-6;

function rejectContradictions(rules: readonly RiskRule[], context: z.core.$RefinementCtx<RiskRule[]>): void {
  const reject = (index: number, field: string, message: string): void => {
    context.addIssue({ code: "custom", path: [index, field], message, input: rules[index] });
  };
  const ids = new Map<string, number>();
  for (const [index, rule] of rules.entries()) {
    const earlier = ids.get(rule.id);
    if (earlier !== undefined) reject(index, "id", `is the id of rule ${earlier} too`);
    else ids.set(rule.id, index);
    if (rule.type !== "maxLoss") continue;
    if (rule.lockAt !== undefined && rule.trailing === undefined) {
      reject(index, "lockAt", "must be given only with trailing");
    }
    const level = lossLevel(rule);
    const lockMinor = minorFromAmount(rule.lockAt ?? 0) ?? 0;
    if (level !== null && rule.lockAt !== undefined && lockMinor < level - ROUNDING_MINOR) {
      reject(index, "lockAt", "must not be below the first threshold of the rule");
    }
  }
  for (const [index, rule] of rules.entries()) {
    if (rule.type !== "dailyLoss") continue;
    const smaller = rules.find((other) => other.type === "maxLoss" && isSmaller(other.limit, rule.limit));
    if (smaller !== undefined) reject(index, "limit", `must not be above the limit of ${smaller.id}`);
  }
}

/** The first threshold of a rule, in minor units; null if the rule has no start value. */
function lossLevel({ limit, startValue }: z.infer<typeof MaxLossRule>): number | null {
  if (startValue === undefined) return null;
  const start = minorFromAmount(startValue) ?? 0;
  if (limit.amount !== undefined) return start - (minorFromAmount(limit.amount) ?? 0);
  return start - (start * (limit.percent ?? 0)) / 100;
}

/** Whether a limit is smaller than another limit of the same kind. */
function isSmaller(limit: RiskLimit, than: RiskLimit): boolean {
  if (limit.percent !== undefined && than.percent !== undefined) return limit.percent < than.percent;
  return limit.amount !== undefined && than.amount !== undefined && limit.amount < than.amount;
}
