/**
 * Compares the valuations of one account with its rules (decisions, 15). The result depends only
 * on the state, the rules and the valuations in the order of the log. So every process that reads
 * the same log finds the same breaches.
 *
 * The reference of a rule is the value from which the loss or profit counts. Deposits and
 * withdrawals are neither profit nor loss. So a reference is stored without the net deposits of its
 * time. Before a comparison, the net deposits of the valuation are added to the reference: the
 * reference moves with later deposits.
 */
import type { DayCalendar } from "./day.ts";
import { limitOf, type Rule, type RuleSet, sameReference, shareOf } from "./rule.ts";

/** Where a valuation is in `trading.valuations`. */
export interface ValuationPosition {
  readonly partition: number;
  readonly offset: number;
}

/** The values of an account at one moment. Money in minor units. */
export interface AccountValues {
  readonly measuredAtMs: number;
  readonly equityMinor: number;
  readonly balanceMinor: number;
  /**
   * Deposits minus withdrawals since the account was created, without the initial balance; null if
   * the trading server does not send them.
   */
  readonly netDepositsMinor: number | null;
  /**
   * The valuation with these values. Undefined: they are the seed of rules, an earlier release
   * stored them, or the offset means nothing any more: the topic was recreated, or the account
   * moved to another partition.
   */
  readonly valuation?: ValuationPosition | undefined;
}

/** The state of one rule in one period. */
export interface RuleState {
  /** Local date of a daily rule; `lifetime` of every other rule. */
  period: string;
  /**
   * End of the period; null: never. 0: the rule was changed to measure from another value, so the
   * next comparison begins the period again, with another reference.
   */
  periodEndMs: number | null;
  /** The value from which the loss or profit counts, without net deposits. */
  referenceMinor: number;
  /** The reference with the net deposits of its time: percentages are shares of this value. */
  baseMinor: number;
  /**
   * When the reference was measured; null: the reference is the start value of the rule, or the
   * initial balance of the account.
   */
  referenceAtMs: number | null;
  /**
   * Net deposits when the period began. The rule's `lockAtMinor` includes them, and moves with
   * later deposits.
   */
  depositsMinor: number;
  breached: boolean;
  warned: boolean;
}

/** The state of the rules of an account; JSON. */
export interface AccountState {
  /** The newest values, of a seed or a valuation; null before the first of them. */
  last: AccountValues | null;
  readonly rules: Record<string, RuleState>;
}

/** A limit that was reached, or the share of it at which a warning is due. */
export interface Alert {
  readonly kind: "breached" | "warning";
  readonly rule: Rule;
  readonly period: string;
  /** The reference with the net deposits until this comparison; comparable with `valueMinor`. */
  readonly referenceMinor: number;
  /** The reference with the net deposits of its time: percentages are shares of this value. */
  readonly baseMinor: number;
  /**
   * When the reference was measured; null: the reference is the start value of the rule, or the
   * initial balance of the account.
   */
  readonly referenceAtMs: number | null;
  /** The value at or beyond which the rule is breached. */
  readonly thresholdMinor: number;
  /** The value that was compared. */
  readonly valueMinor: number;
}

/** What the evaluation needs to know of an account besides its valuations. */
export interface RuledAccount {
  readonly initialBalanceMinor: number;
}

/** Returns the calendar of a time zone and a start of the day. */
export type CalendarOf = (timeZone: string, dayStart: string) => DayCalendar;

const LIFETIME = "lifetime";
const WHOLE_PERCENT = 100;

/** The state of an account without valuations. */
export function emptyState(): AccountState {
  return { last: null, rules: {} };
}

/**
 * Compares a valuation with the rules, and updates the state.
 * @returns at most one alert for each rule, in the order of the rules. It is a breach if the values
 * are the first of the period that reach the limit. Otherwise it is a warning if they are the first
 * that reach the rule's share of the limit. Empty for a valuation that was measured before
 * `state.last`: trading servers repeat valuations.
 */
export function evaluate(
  state: AccountState,
  { rules }: RuleSet,
  account: RuledAccount,
  calendarOf: CalendarOf,
  values: AccountValues,
): Alert[] {
  if (state.last !== null && values.measuredAtMs < state.last.measuredAtMs) return [];
  rebase(state, values);
  const alerts: Alert[] = [];
  for (const rule of rules) {
    const current = stateOf(state, rule, account, calendarOf, values);
    const alert = compare(rule, current, values);
    if (alert !== null) alerts.push(alert);
  }
  state.last = values;
  return alerts;
}

/**
 * Makes a new set of rules active. `seed` has the values of the account when its rules were set:
 * a limit that they exceed already is found at once.
 * @returns the alerts of the seed under the earlier rules, then those of the newest values under
 * the new rules. The newest values are the seed, or a valuation that was measured after it.
 */
export function activate(
  state: AccountState,
  before: RuleSet | null,
  after: RuleSet,
  account: RuledAccount,
  calendarOf: CalendarOf,
  seed: AccountValues,
): Alert[] {
  const earlier = before === null ? [] : evaluate(state, before, account, calendarOf, seed);
  if (state.last === null || seed.measuredAtMs >= state.last.measuredAtMs) state.last = seed;
  replaceRules(state, before, after);
  return [...earlier, ...evaluate(state, after, account, calendarOf, state.last)];
}

/**
 * Replaces the rules. A rule that was there before keeps a breach or warning of the present period.
 * It keeps its reference if it still measures from the same value; otherwise its period begins
 * again. The states of removed rules are deleted.
 */
function replaceRules(state: AccountState, before: RuleSet | null, after: RuleSet): void {
  for (const [id, kept] of Object.entries(state.rules)) {
    const earlier = before?.rules.find((rule) => rule.id === id);
    const rule = after.rules.find((one) => one.id === id);
    if (rule === undefined || earlier === undefined || rule.since !== earlier.since) delete state.rules[id];
    else if (!sameReference(earlier, rule)) state.rules[id] = { ...kept, periodEndMs: 0 };
  }
}

/**
 * Moves the references when the trading server starts or stops sending net deposits. While it does
 * not send them, they count as zero.
 */
function rebase(state: AccountState, values: AccountValues): void {
  if (state.last === null) return;
  const [before, now] = [state.last.netDepositsMinor, values.netDepositsMinor];
  if ((before === null) === (now === null)) return;
  const movedMinor = (now ?? 0) - (before ?? 0);
  for (const rule of Object.values(state.rules)) {
    rule.referenceMinor -= movedMinor;
    rule.depositsMinor += movedMinor;
  }
  state.last = { ...state.last, netDepositsMinor: now };
}

function stateOf(
  state: AccountState,
  rule: Rule,
  account: RuledAccount,
  calendarOf: CalendarOf,
  values: AccountValues,
): RuleState {
  const known = state.rules[rule.id];
  const isOver = known?.periodEndMs !== null && known !== undefined && values.measuredAtMs >= known.periodEndMs;
  if (known !== undefined && !isOver) {
    if (rule.type === "maxLoss" && rule.trailing !== null) raise(known, rule.trailing, values);
    return known;
  }
  const next = begin(state, rule, account, calendarOf, values);
  if (known?.period === next.period) Object.assign(next, { breached: known.breached, warned: known.warned });
  state.rules[rule.id] = next;
  return next;
}

/** The first state of a rule in a period. */
function begin(
  state: AccountState,
  rule: Rule,
  account: RuledAccount,
  calendarOf: CalendarOf,
  values: AccountValues,
): RuleState {
  const open = { depositsMinor: netDeposits(values), breached: false, warned: false };
  if (rule.type === "dailyLoss") {
    const day = calendarOf(rule.timeZone, rule.dayStart).dayOf(values.measuredAtMs);
    // The loss of a day counts from the last values before the day. On the day on which the rule
    // becomes active, it counts from the newest values at that moment.
    const start = state.last ?? values;
    const baseMinor = valueOf(rule.basis, start);
    const referenceMinor = baseMinor - netDeposits(start);
    const referenceAtMs = start.measuredAtMs;
    return { period: day.date, periodEndMs: day.endMs, referenceMinor, baseMinor, referenceAtMs, ...open };
  }
  const startMinor = rule.startMinor ?? account.initialBalanceMinor;
  // The initial balance is no deposit. A start value that the caller names is a value of this
  // moment, with the net deposits until now.
  const referenceMinor = rule.startMinor === null ? startMinor : startMinor - netDeposits(values);
  const begun: RuleState = {
    period: LIFETIME,
    periodEndMs: null,
    referenceMinor,
    baseMinor: startMinor,
    referenceAtMs: null,
    ...open,
  };
  if (rule.type === "maxLoss" && rule.trailing !== null) raise(begun, rule.trailing, values);
  return begun;
}

/** Raises the reference of a trailing rule to a new highest value. */
function raise(state: RuleState, basis: "equity" | "balance", values: AccountValues): void {
  const valueMinor = valueOf(basis, values);
  const referenceMinor = valueMinor - netDeposits(values);
  if (referenceMinor <= state.referenceMinor) return;
  state.referenceMinor = referenceMinor;
  state.baseMinor = valueMinor;
  state.referenceAtMs = values.measuredAtMs;
}

/** How far an account is from a limit that it has not reached. */
export interface LimitDistance {
  readonly rule: Rule;
  readonly thresholdMinor: number;
  readonly valueMinor: number;
  /** The distance between value and threshold in percent of the limit. */
  readonly leftPercent: number;
  /** End of the rule's period; null: it does not end. */
  readonly untilMs: number | null;
}

/**
 * The distances from all limits that are not breached, as of the newest values. A limit whose
 * period ended after these values is included. A limit that is a percentage of a reference is left
 * out if the reference is not positive.
 */
export function distancesOf({ last, rules }: AccountState, { rules: set }: RuleSet): LimitDistance[] {
  if (last === null) return [];
  return set.flatMap((rule) => {
    const state = rules[rule.id];
    if (state === undefined || state.breached) return [];
    const measured = measure(rule, state, last);
    if (measured === null || measured.limitMinor <= 0) return [];
    const { thresholdMinor, valueMinor, limitMinor } = measured;
    const leftMinor = rule.type === "profitTarget" ? thresholdMinor - valueMinor : valueMinor - thresholdMinor;
    const leftPercent = (leftMinor / limitMinor) * WHOLE_PERCENT;
    return [{ rule, thresholdMinor, valueMinor, leftPercent, untilMs: state.periodEndMs }];
  });
}

/** The numbers by which a rule is compared with the values of an account. */
interface Measured {
  readonly limitMinor: number;
  readonly referenceMinor: number;
  readonly thresholdMinor: number;
  readonly valueMinor: number;
  /** Whether `valueMinor` is at or beyond this threshold. */
  readonly reached: (thresholdMinor: number) => boolean;
  /** The threshold at this distance from the reference. */
  readonly levelAt: (distanceMinor: number) => number;
}

function compare(rule: Rule, state: RuleState, values: AccountValues): Alert | null {
  if (state.breached) return null;
  const measured = measure(rule, state, values);
  if (measured === null) return null;
  const { limitMinor, referenceMinor, thresholdMinor, valueMinor, reached, levelAt } = measured;
  const { period, baseMinor, referenceAtMs } = state;
  const found = { rule, period, referenceMinor, baseMinor, referenceAtMs, thresholdMinor, valueMinor };
  if (reached(thresholdMinor)) {
    state.breached = true;
    return { kind: "breached", ...found };
  }
  if (rule.warnShare === null || state.warned || !reached(levelAt(shareOf(limitMinor, rule.warnShare)))) return null;
  state.warned = true;
  return { kind: "warning", ...found };
}

/** Null: the limit is a share of a reference that is not positive. */
function measure(rule: Rule, state: RuleState, values: AccountValues): Measured | null {
  const limitMinor = limitOf(rule.limit, state.baseMinor);
  if (limitMinor === null) return null;
  const referenceMinor = state.referenceMinor + netDeposits(values);
  const isProfit = rule.type === "profitTarget";
  const valueMinor = isProfit ? valueOf(rule.basis, values) : values.equityMinor;
  const reached = (thresholdMinor: number): boolean =>
    isProfit ? valueMinor >= thresholdMinor : valueMinor <= thresholdMinor;
  const levelAt = (distanceMinor: number): number => {
    if (isProfit) return referenceMinor + distanceMinor;
    const level = referenceMinor - distanceMinor;
    const lockMinor = rule.type === "maxLoss" ? rule.lockAtMinor : null;
    if (lockMinor === null) return level;
    return Math.min(level, lockMinor + netDeposits(values) - state.depositsMinor);
  };
  return { limitMinor, referenceMinor, thresholdMinor: levelAt(limitMinor), valueMinor, reached, levelAt };
}

function valueOf(basis: "equity" | "balance" | "higher", { equityMinor, balanceMinor }: AccountValues): number {
  if (basis === "equity") return equityMinor;
  return basis === "balance" ? balanceMinor : Math.max(equityMinor, balanceMinor);
}

function netDeposits({ netDepositsMinor }: AccountValues): number {
  return netDepositsMinor ?? 0;
}
