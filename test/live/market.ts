import { accountKey, TOPICS, type Valuation } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";
import { toIso } from "@kapi/kernel";

import type { RandomSource } from "./random-source.ts";

const ROUND_MS = 20;
const FIRST_BALANCE_MINOR = 1_000_000;
const MAX_MOVE_MINOR = 5_000;
const MARGIN_MINOR = 20_000;
const MAX_POSITIONS = 5;
/** Probability that a valuation repeats the values of the account's previous valuation. */
const UNCHANGED = 0.25;
/** Probability that a valuation with other values also has a trade, if the account is not busy. */
const TRADES = 0.05;
/** Every tenth account is busy: ten times as many valuations, and more trades. */
const BUSY_EVERY = 10;
const BUSY_FACTOR = 10;
const BUSY_TRADES = 0.8;

interface Trader {
  readonly accountNumber: string;
  readonly busy: boolean;
  balanceMinor: number;
  equityMinor: number;
  openPositionCount: number;
  measuredMs: number;
}

/** Publishes random raw valuations of accounts. Some valuations repeat the previous values. */
export class RandomMarket {
  readonly #producer: Producer;
  readonly #serverId: string;
  readonly #random: RandomSource;
  readonly #traders: readonly Trader[];
  readonly #sends = new Set<Promise<unknown>>();
  #timer: NodeJS.Timeout | null = null;
  #owed = 0;
  #lastMs = 0;
  #valuations = 0;

  constructor(options: {
    readonly producer: Producer;
    readonly serverId: string;
    readonly accounts: readonly string[];
    readonly random: RandomSource;
  }) {
    this.#producer = options.producer;
    this.#serverId = options.serverId;
    this.#random = options.random;
    this.#traders = options.accounts.map((accountNumber, index) => ({
      accountNumber,
      busy: index % BUSY_EVERY === 0,
      balanceMinor: FIRST_BALANCE_MINOR,
      equityMinor: FIRST_BALANCE_MINOR,
      openPositionCount: 1,
      measuredMs: 0,
    }));
  }

  /** Number of published valuations. */
  get valuations(): number {
    return this.#valuations;
  }

  /** Publishes about `perSecond` valuations a second, of all accounts together, until `stop`. */
  start(perSecond: number): void {
    this.#lastMs = Date.now();
    this.#timer = setInterval(() => {
      const nowMs = Date.now();
      this.#owed += ((nowMs - this.#lastMs) * perSecond) / 1_000;
      this.#lastMs = nowMs;
      for (; this.#owed >= 1; this.#owed -= 1) this.#publish(this.#chooseTrader());
    }, ROUND_MS);
  }

  /** Publishes one valuation of every account, each with a change. */
  async round(): Promise<void> {
    for (const trader of this.#traders) this.#publish(trader, true);
    await Promise.all(this.#sends);
  }

  /** Publishes valuations of one account, each with a change. */
  async burst(accountNumber: string, count: number): Promise<void> {
    const trader = this.#traders.find((one) => one.accountNumber === accountNumber);
    if (trader === undefined) throw new RangeError(`unknown account ${accountNumber}`);
    for (let index = 0; index < count; index += 1) this.#publish(trader, true);
    await Promise.all(this.#sends);
  }

  /** Stops, and waits until all published valuations are in the log. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all(this.#sends);
  }

  #chooseTrader(): Trader {
    for (;;) {
      const trader = this.#random.pick(this.#traders);
      if (trader.busy || this.#random.happens(1 / BUSY_FACTOR)) return trader;
    }
  }

  #publish(trader: Trader, mustChange = false): void {
    const { accountNumber } = trader;
    if (mustChange || !this.#random.happens(UNCHANGED)) this.#move(trader);
    trader.measuredMs = Math.max(Date.now(), trader.measuredMs);
    const { balanceMinor, equityMinor, openPositionCount } = trader;
    const marginMinor = openPositionCount * MARGIN_MINOR;
    const valuation: Valuation = {
      serverId: this.#serverId,
      accountNumber,
      measuredAt: toIso(trader.measuredMs),
      balanceMinor,
      equityMinor,
      marginMinor,
      freeMarginMinor: equityMinor - marginMinor,
      marginLevel: marginMinor === 0 ? 0 : Math.round((equityMinor / marginMinor) * 10_000) / 100,
      unrealizedProfitMinor: equityMinor - balanceMinor,
      openPositionCount,
    };
    this.#valuations += 1;
    const key = accountKey(this.#serverId, accountNumber);
    const send = this.#producer.send(TOPICS.tradingValuations, { key, value: JSON.stringify(valuation) });
    this.#sends.add(send);
    void send.finally(() => this.#sends.delete(send));
  }

  #move(trader: Trader): void {
    const random = this.#random;
    trader.equityMinor += random.whole(1, MAX_MOVE_MINOR) * (random.happens(0.5) ? 1 : -1);
    if (!random.happens(trader.busy ? BUSY_TRADES : TRADES)) return;
    trader.openPositionCount = random.whole(0, MAX_POSITIONS);
    trader.balanceMinor += random.whole(-MAX_MOVE_MINOR, MAX_MOVE_MINOR);
  }
}
