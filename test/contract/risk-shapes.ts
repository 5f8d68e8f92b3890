/** The exact shapes of risk rules, templates and breaches (decisions, 15). */
import { z } from "zod";

const uuid = z.guid();
const time = z.iso.datetime();
const timeOrNull = time.nullable();
const text = z.string();
const integer = z.int();
const number = z.number();

/** Decisions, 15.2. */
const Limit = z.strictObject({ percent: number.optional(), amount: number.optional() });
const rule = {
  id: text,
  warnAt: number.optional(),
  action: z.enum(["notify", "close_only", "disable", "flatten_and_disable"]),
};
const Rule = z.discriminatedUnion("type", [
  z.strictObject({
    ...rule,
    type: z.literal("dailyLoss"),
    limit: Limit,
    basis: z.enum(["equity", "balance", "higher"]),
    timeZone: text,
    dayStart: text,
  }),
  z.strictObject({
    ...rule,
    type: z.literal("maxLoss"),
    limit: Limit,
    trailing: z.enum(["equity", "balance"]).optional(),
    startValue: number.optional(),
    lockAt: number.optional(),
  }),
  z.strictObject({
    ...rule,
    type: z.literal("profitTarget"),
    target: Limit,
    basis: z.enum(["equity", "balance"]),
    startValue: number.optional(),
  }),
]);
export const RiskRules = z.strictObject({
  serverId: uuid,
  accountNumber: text,
  version: integer.min(0),
  rules: z.array(Rule),
  commandId: uuid.nullable(),
  activeFrom: timeOrNull,
  template: z.strictObject({ name: text, version: integer.min(1) }).nullable(),
});
/** Decisions, 15.10. */
export const RiskTemplate = z.strictObject({
  serverId: uuid,
  name: text,
  version: integer.min(1),
  rules: z.array(Rule).min(1),
  appliesTo: z.strictObject({
    status: z.array(z.enum(["active", "close_only", "disabled", "archived"])).optional(),
    nameStartsWith: text.optional(),
  }),
  newAccounts: z.boolean(),
  commandId: uuid,
  createdAt: time,
  updatedAt: time,
  progress: z.enum(["applying", "applied"]),
  accounts: z.strictObject({ applied: integer.min(0), waiting: integer.min(0), failed: integer.min(0) }),
});
export const Breach = z.strictObject({
  id: uuid,
  serverId: uuid,
  accountNumber: text,
  rule: Rule,
  ruleVersion: integer.min(1),
  period: text,
  reference: number,
  threshold: number,
  value: number,
  equity: number,
  balance: number,
  measuredAt: time,
  action: z.enum(["notify", "close_only", "disable", "flatten_and_disable"]),
  commandId: uuid.nullable(),
  recordedAt: time,
  evidence: z.strictObject({
    status: z.enum(["pending", "stored", "none"]),
    sequence: integer.nullable(),
    extremeValue: number.nullable(),
    extremeAt: timeOrNull,
  }),
});
