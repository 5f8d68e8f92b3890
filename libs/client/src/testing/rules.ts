/** The risk rules of the fake. */
import { invalid } from "./answers.ts";
import type { CommandOutcome, FakeState, Json, Rule, StoredAccount } from "./state.ts";

const MAX_RULES = 10;
/** Defaults of a daily rule, as in the API. */
export const DAILY_DEFAULTS = { timeZone: "UTC", dayStart: "00:00" };

/** @throws FakeError if there are no rules, too many rules, or rules with equal ids. */
export function rejectInvalidRules({ rules }: Json): void {
  if (!Array.isArray(rules) || rules.length === 0 || rules.length > MAX_RULES) {
    throw invalid("rules", `must have 1 to ${MAX_RULES} rules`);
  }
  const ids = rules.map(({ id }: Rule) => id);
  if (new Set(ids).size < ids.length) throw invalid("rules", "must have distinct ids");
}

/** Carries out a change of the rules, which replaces all rules. */
export function setRules(
  state: FakeState,
  account: StoredAccount,
  rules: readonly Rule[],
  commandId: string,
): CommandOutcome {
  const activeFrom = state.now();
  const earlier = account.rules;
  const version = earlier.version + 1;
  const isKept = ({ id, type }: Rule): boolean => earlier.rules.some((rule) => rule.id === id && rule.type === type);
  const since = new Map(rules.map((rule) => [rule.id, (isKept(rule) && earlier.since.get(rule.id)) || version]));
  const filled = rules.map((rule) => (rule.type === "dailyLoss" ? { ...DAILY_DEFAULTS, ...rule } : rule));
  account.rules = { version, rules: filled, commandId, activeFrom, since };
  return { result: { version, activeFrom } };
}

/** The active rules as the API shows them. */
export function riskRulesView({ serverId, accountNumber, rules }: StoredAccount): Json {
  const { since: _since, ...shown } = rules;
  return { serverId, accountNumber, ...shown };
}
