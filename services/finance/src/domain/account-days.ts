/**
 * Sorts the transactions of an account into days in UTC. Transactions may be added in any order. If
 * the clock of a trading server was set back, a higher sequence can have an earlier day.
 */

/** The fields of a transaction from which the days are computed. */
export interface DatedTransaction {
  readonly sequence: number;
  readonly amountMinor: number;
  /** The day on which the trading server recorded the transaction, `YYYY-MM-DD`. */
  readonly day: string;
}

/** The days, and the balance of the account at one moment, in minor units. */
export interface DayRange {
  /** The days to compute, in order, without a gap. */
  readonly days: readonly string[];
  readonly balanceMinor: number;
  /** The sequence of the last transaction that the balance includes. */
  readonly lastSequence: number;
}

/** One day of an account. Money in minor units. */
export interface AccountDay {
  readonly day: string;
  readonly count: number;
  readonly amountMinor: number;
  /** The sum of all transactions up to the end of the day. */
  readonly closingBalanceMinor: number;
  /** All transactions up to this sequence belong to this day or to an earlier one. */
  readonly settledSequence: number;
  /** Whether the account has a transaction on this day or earlier, among those that were added. */
  readonly hasBegun: boolean;
}

interface Sum {
  count: number;
  amountMinor: number;
  firstSequence: number;
}

/**
 * The days of an account. The caller adds every transaction of these days and of later days, up to
 * `lastSequence`. Transactions of earlier days are optional: they affect only `hasBegun`.
 */
export class AccountDays {
  readonly #range: DayRange;
  readonly #sums = new Map<string, Sum>();
  #firstDay: string | null = null;

  constructor(range: DayRange) {
    this.#range = range;
  }

  add({ day, amountMinor, sequence }: DatedTransaction): void {
    const last = this.#range.days.at(-1) ?? day;
    // All days after the range share one sum.
    const key = day > last ? LATER : day;
    const sum = this.#sums.get(key) ?? { count: 0, amountMinor: 0, firstSequence: sequence };
    sum.count += 1;
    sum.amountMinor += amountMinor;
    sum.firstSequence = Math.min(sum.firstSequence, sequence);
    this.#sums.set(key, sum);
    if (this.#firstDay === null || day < this.#firstDay) this.#firstDay = day;
  }

  /** The days of the range, in order. */
  result(): AccountDay[] {
    const later = this.#sums.get(LATER);
    let closingBalanceMinor = this.#range.balanceMinor - (later?.amountMinor ?? 0);
    let settledSequence = later === undefined ? this.#range.lastSequence : later.firstSequence - 1;
    const result: AccountDay[] = [];
    for (const day of this.#range.days.toReversed()) {
      const sum = this.#sums.get(day);
      const { count = 0, amountMinor = 0 } = sum ?? {};
      const hasBegun = this.#firstDay !== null && this.#firstDay <= day;
      result.push({ day, count, amountMinor, closingBalanceMinor, settledSequence, hasBegun });
      closingBalanceMinor -= amountMinor;
      if (sum !== undefined) settledSequence = Math.min(settledSequence, sum.firstSequence - 1);
    }
    return result.toReversed();
  }
}

/** The key of the sum of all days after the range. */
const LATER = "later";
