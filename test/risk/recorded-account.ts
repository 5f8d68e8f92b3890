/** Accounts with random positions on recorded quotes, and their valuations. */
import { readFileSync } from "node:fs";

import type { RiskRule, Valuation } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { anyAccountNumber, valuation } from "@kapi/testkit";

import { parseRecording, type Recording } from "../../services/trading-simulator/src/domain/recording.ts";
import type { RandomSource } from "../live/random-source.ts";

export const INITIAL_MINOR = 1_000_000;
/** Volume of a position in the account's currency: 10 to 100 times the initial balance. */
const MIN_VOLUME_MINOR = 10_000_000;
const MAX_VOLUME_MINOR = 100_000_000;
const MAX_POSITIONS = 4;
const MAX_DEPOSIT_MINOR = 200_000;
/** When an account gets a quote: probability that it trades, and that it deposits or withdraws. */
const TRADES = 0.08;
const DEPOSITS = 0.02;
/** Without a recording: quotes of six hours, from two hours before the end of a UTC day. */
const QUOTES = 9_000;
const QUOTE_STEP_MS = 2_400;
const FIRST_QUOTE_MS = Date.parse("2026-01-01T22:00:00.000Z");

/** One quote of a recording. */
export interface Quote {
  readonly atMs: number;
  readonly bid: number;
  readonly ask: number;
}

/** The quotes of a CSV of recorded quotes, or of a random walk if `file` is null. */
export function readQuotes(file: string | null, random: RandomSource): Quote[] {
  if (file === null) return randomWalk(random);
  const { timesMs, bids, asks }: Recording = parseRecording("recorded", readFileSync(file, "utf8"));
  return timesMs.map((atMs, index) => ({ atMs, bid: bids[index] ?? 0, ask: asks[index] ?? 0 }));
}

function randomWalk(random: RandomSource): Quote[] {
  let bid = 1.12;
  return Array.from({ length: QUOTES }, (_, index) => {
    bid *= 1 + (random.next() - 0.5) / 10_000;
    return { atMs: FIRST_QUOTE_MS + index * QUOTE_STEP_MS, bid, ask: bid + 0.0001 };
  });
}

interface Position {
  readonly isBuy: boolean;
  readonly volumeMinor: number;
  readonly openPrice: number;
}

/** An account with random positions and random deposits, valued at the quotes that it gets. */
export class RecordedAccount {
  readonly accountNumber = anyAccountNumber();
  readonly #random: RandomSource;
  readonly #serverId: string;
  /** Whether the trading server sends the net deposits of the account. */
  readonly #sendsDeposits: boolean;
  #positions: Position[] = [];
  #balanceMinor = INITIAL_MINOR;
  #netDepositsMinor = 0;
  #quote: Quote;
  /** The rules that were sent last. */
  rules: readonly RiskRule[] = [];

  constructor(serverId: string, first: Quote, random: RandomSource, sendsDeposits: boolean) {
    this.#serverId = serverId;
    this.#quote = first;
    this.#random = random;
    this.#sendsDeposits = sendsDeposits;
  }

  /** Gives the account a new quote. Sometimes it also trades, deposits or withdraws. */
  step(quote: Quote): void {
    this.#quote = quote;
    if (this.#random.happens(TRADES)) this.#trade();
    if (!this.#random.happens(DEPOSITS)) return;
    const movedMinor = this.#random.whole(-MAX_DEPOSIT_MINOR, MAX_DEPOSIT_MINOR);
    this.#balanceMinor += movedMinor;
    this.#netDepositsMinor += movedMinor;
  }

  /** The values at the last quote. */
  valuation(): Valuation {
    const profitMinor = this.#positions.reduce((sum, position) => sum + this.#profitMinor(position), 0);
    const values = valuation({
      serverId: this.#serverId,
      accountNumber: this.accountNumber,
      measuredAt: toIso(this.#quote.atMs),
      balanceMinor: this.#balanceMinor,
      equityMinor: this.#balanceMinor + profitMinor,
    });
    return this.#sendsDeposits ? { ...values, netDepositsMinor: this.#netDepositsMinor } : values;
  }

  #trade(): void {
    const { bid, ask } = this.#quote;
    if (this.#positions.length < MAX_POSITIONS && this.#random.happens(0.6)) {
      const isBuy = this.#random.happens(0.5);
      const volumeMinor = this.#random.whole(MIN_VOLUME_MINOR, MAX_VOLUME_MINOR);
      this.#positions.push({ isBuy, volumeMinor, openPrice: isBuy ? ask : bid });
      return;
    }
    const closed = this.#positions.shift();
    if (closed !== undefined) this.#balanceMinor += this.#profitMinor(closed);
  }

  #profitMinor({ isBuy, volumeMinor, openPrice }: Position): number {
    const { bid, ask } = this.#quote;
    const moved = isBuy ? bid - openPrice : openPrice - ask;
    return Math.round((volumeMinor * moved) / openPrice);
  }
}
