import { randomUUID } from "node:crypto";

import type { TradingServerClient } from "../../src/client.ts";
import type { Change, Outcome } from "../../src/contract.ts";

/** The bridge under test. */
export interface ConformanceTarget {
  readonly client: TradingServerClient;
  /** A server that only these tests use. */
  readonly serverId: string;
  /**
   * Opens a position on an account that can afford it, as a trader does. Rejects if the platform
   * refuses the order.
   */
  openPosition(accountNumber: string): Promise<void>;
  /**
   * Places a pending order that would open a position, at a price that the market does not reach.
   * Returns its id. Rejects if the platform refuses the order.
   */
  placeOrder(accountNumber: string): Promise<string>;
  /** Closes all positions of an account, as a trader does. */
  closePositions(accountNumber: string): Promise<void>;
}

type Body = Change extends infer C ? (C extends Change ? Omit<C, "reference" | "accountNumber"> : never) : never;

/** Sends changes to the bridge under test. */
export class Bench {
  readonly #target: () => ConformanceTarget;

  constructor(target: () => ConformanceTarget) {
    this.#target = target;
  }

  get target(): ConformanceTarget {
    return this.#target();
  }

  get client(): TradingServerClient {
    return this.target.client;
  }

  get serverId(): string {
    return this.target.serverId;
  }

  /** Sends one change. */
  async change(accountNumber: string, body: Body, reference: string = randomUUID()): Promise<Outcome> {
    const outcomes = await this.changes([{ reference, accountNumber, ...body }]);
    const [outcome] = outcomes;
    if (outcome === undefined) throw new Error("the trading server returned no outcome for the change");
    return outcome;
  }

  /** Sends changes in one request; outcomes in the same order. */
  changes(changes: readonly Change[]): Promise<Outcome[]> {
    return this.client.change(this.serverId, changes);
  }

  /** Creates an account with `initialBalanceMinor`. */
  async account(initialBalanceMinor: number = 0): Promise<string> {
    const accountNumber = anyAccountNumber();
    const outcome = await this.change(accountNumber, create(initialBalanceMinor));
    if (outcome.status !== "applied") throw new Error(`the account was not created: ${JSON.stringify(outcome)}`);
    return accountNumber;
  }

  /** The balance of an account now; null if the server has no such account. */
  async balanceMinor(accountNumber: string): Promise<number | null> {
    return (await this.client.snapshot(this.serverId, accountNumber))?.balanceMinor ?? null;
  }
}

/** A number that no other test uses. */
export function anyAccountNumber(): string {
  return randomUUID().replaceAll("-", "").slice(0, 12);
}

/** A change that creates an account, for {@link Bench.change}. */
export function create(initialBalanceMinor: number, leverage: number = 100): Body {
  return {
    type: "create",
    accountName: "Conformance",
    leverage,
    currency: "USD",
    initialBalanceMinor,
    tradingPassword: "a trading password",
    investorPassword: "an investor password",
  };
}

/** A change that deposits money. */
export function deposit(amountMinor: number): Body {
  return { type: "balance", kind: "deposit", amountMinor, description: null };
}

/** A change that withdraws money. */
export function withdrawal(amountMinor: number): Body {
  return { type: "balance", kind: "withdrawal", amountMinor, description: "conformance" };
}

/**
 * An outcome as text: the event's type, "unchanged", the rejection's code, "closed", "incomplete"
 * or "no outcome".
 */
export function resultOf(outcome: Outcome | undefined): string {
  if (outcome === undefined) return "no outcome";
  if (outcome.status === "refused") return outcome.code;
  if (outcome.status === "closed" || outcome.status === "incomplete") return outcome.status;
  return outcome.event === null ? "unchanged" : outcome.event.type;
}
