import { randomUUID } from "node:crypto";

import type { Demo } from "@kapi/local";

import { OutsideClient } from "../e2e/outside-client.ts";
import type { RandomSource } from "./random-source.ts";

const REQUEST_TIMEOUT_MS = 30_000;
const MAX_AT_ONCE = 100;
const INITIAL_BALANCE = 1_000_000;
const LEVERAGE = 100;
const SYMBOLS = ["EURUSD", "GBPUSD", "USDJPY", "XAUUSD", "BTCUSD", "NAS100"] as const;
const VOLUME = 0.1;
const MAX_POSITIONS = 4;
/** Market ticks between two decisions of an account, from busy to slow. */
const EVERY_TICKS = [1, 5, 20, 100] as const;
const DEPOSIT = 12.34;

/** Accounts on the simulated trading server that trade automatically. */
export class TradingFloor {
  readonly accounts: readonly string[];
  readonly #client: OutsideClient;
  readonly #random: RandomSource;

  private constructor(client: OutsideClient, accounts: readonly string[], random: RandomSource) {
    this.#client = client;
    this.accounts = accounts;
    this.#random = random;
  }

  /** Opens the accounts through the API and enables automatic trading. */
  static async open(demo: Demo, count: number, random: RandomSource): Promise<TradingFloor> {
    const client = new OutsideClient(demo);
    const accounts: string[] = [];
    while (accounts.length < count) {
      const size = Math.min(MAX_AT_ONCE, count - accounts.length);
      const openings = Array.from({ length: size }, () => client.openAccount(INITIAL_BALANCE, LEVERAGE));
      accounts.push(...(await Promise.all(openings)));
    }
    const floor = new TradingFloor(client, accounts, random);
    for (const account of accounts) {
      await floor.#control("PUT", `/accounts/${account}/auto-trader`, {
        enabled: true,
        symbols: [random.pick(SYMBOLS), random.pick(SYMBOLS)],
        volume: VOLUME,
        maxPositions: MAX_POSITIONS,
        everyTicks: random.pick(EVERY_TICKS),
      });
    }
    return floor;
  }

  /** Deposits to a random account through the API. */
  async deposit(): Promise<void> {
    const answer = await this.#client.deposit(this.#random.pick(this.accounts), {
      amount: DEPOSIT,
      requestId: randomUUID(),
    });
    if (answer.status !== 202) throw new Error(`a deposit was answered with ${answer.status}`);
  }

  /** Pauses the market, so that no more valuations are published. */
  async close(): Promise<void> {
    await this.#control("PUT", "/market", { paused: true });
  }

  async #control(method: string, path: string, body: object): Promise<void> {
    const { tradingServerUrl, serverId } = this.#client.demo;
    const answer = await fetch(`${tradingServerUrl}/control/v1/servers/${serverId}${path}`, {
      method,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status} ${await answer.text()}`);
  }
}
