/** Breaches in the fake. The fake compares no values: a test says which rule is breached. */
import type { FakeCommands } from "./commands.ts";
import { carryOut } from "./operations.ts";
import { DAILY_DEFAULTS } from "./rules.ts";
import {
  amountOf,
  type Breach,
  type FakeState,
  type Json,
  type Limit,
  minorOf,
  type Rule,
  type StoredAccount,
  uuidOf,
} from "./state.ts";

const MINUTE_MS = 60_000;
const LIFETIME = "lifetime";
/** The command of each action. */
const COMMAND_OF = {
  close_only: { operation: "account.close_only", payload: {} },
  disable: { operation: "account.disable", payload: {} },
  flatten_and_disable: { operation: "account.disable", payload: { flatten: true } },
} as const;

/**
 * Breaches a rule: records the breach, announces it, and queues the command of the action. Returns
 * the id of the breach.
 * @throws Error for an unknown rule, and for a rule that is already breached in its period.
 */
export function breachRule(state: FakeState, commands: FakeCommands, account: StoredAccount, ruleId: string): string {
  const { rules, version, since } = account.rules;
  const rule = rules.find(({ id }) => id === ruleId);
  if (rule === undefined) throw new Error(`account ${account.accountNumber} has no rule ${ruleId}`);
  const period = periodOf(rule, state.now());
  const id = uuidOf(account.id, ruleId, String(since.get(ruleId)), period);
  if (account.breaches.some((breach) => breach.id === id)) {
    throw new Error(`rule ${ruleId} is already breached in the period ${period}`);
  }
  const { serverId, accountNumber } = account;
  const { action } = rule;
  const command = action === "notify" ? null : COMMAND_OF[action];
  const commandId =
    command === null
      ? null
      : commands.queueAction(id, {
          ...command,
          account,
          run: (acting) => carryOut(state, account, command.operation, { ...command.payload, requestId: id }, acting),
        });
  const at = state.now();
  const alert = {
    id,
    rule,
    ruleVersion: version,
    period,
    ...valuesOf(account, rule),
    measuredAt: at,
    action,
    commandId,
  };
  const breach: Breach = { ...alert, serverId, accountNumber, recordedAt: at };
  account.breaches.push(breach);
  state.announce("risk.breached", account, alert);
  return id;
}

/** The values of a breach: the limit is reached exactly. */
function valuesOf(account: StoredAccount, { type, startValue, limit, target }: Rule): Json {
  const start = type === "dailyLoss" ? account.balanceMinor : account.initialBalanceMinor;
  const reference = startValue === undefined ? start : minorOf(startValue);
  const distance = distanceOf(type === "profitTarget" ? target : limit, reference);
  const threshold = amountOf(type === "profitTarget" ? reference + distance : reference - distance);
  const balance = amountOf(account.balanceMinor);
  return { reference: amountOf(reference), threshold, value: threshold, equity: threshold, balance };
}

/** The distance of a limit from the reference, in cents. */
function distanceOf({ amount, percent = 0 }: Limit = {}, referenceMinor: number): number {
  return amount === undefined ? Math.ceil((referenceMinor * percent) / 100) : minorOf(amount);
}

/** The period of a breach at `nowIso`: the day's local date for a daily rule, else `lifetime`. */
function periodOf({ type, timeZone, dayStart = DAILY_DEFAULTS.dayStart }: Rule, nowIso: string): string {
  if (type !== "dailyLoss") return LIFETIME;
  const [hours = 0, minutes = 0] = dayStart.split(":").map(Number);
  const atMs = Date.parse(nowIso) - (hours * 60 + minutes) * MINUTE_MS;
  // en-CA writes dates as 2026-03-02.
  return new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(atMs);
}
