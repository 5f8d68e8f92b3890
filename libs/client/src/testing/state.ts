/** What the fake stores: accounts, their history, commands, events and credits. */
import { createHash, randomUUID } from "node:crypto";

import type { Account } from "../live/events.ts";

export type Json = Readonly<Record<string, unknown>>;
type MutableJson = Record<string, unknown>;

const CENTS = 100;
const FIRST_ACCOUNT_NUMBER = 10_000_001;
const CREDITS = 1_000_000;

/**
 * An account of the fake, and its history. Fields that end in `Minor` are in cents; the records of
 * the lists have amounts in units of currency, as the API shows them.
 */
export interface StoredAccount {
  readonly id: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly createdAt: string;
  readonly initialBalanceMinor: number;
  accountName: string;
  leverage: number;
  status: "active" | "close_only" | "disabled" | "archived" | "deleted";
  balanceMinor: number;
  /** Profit of the open positions, as the test sets it. */
  profitMinor: number;
  version: number;
  /** The records of each list, oldest first. */
  readonly transactions: MutableJson[];
  readonly orders: MutableJson[];
  readonly positions: MutableJson[];
  readonly deals: MutableJson[];
  rules: RuleVersion;
  /** Oldest first. */
  readonly breaches: Breach[];
}

/** A rule as the API shows it, with amounts in units of currency. */
export interface Rule {
  readonly id: string;
  readonly type: "dailyLoss" | "maxLoss" | "profitTarget";
  readonly action: "notify" | "close_only" | "disable" | "flatten_and_disable";
  readonly limit?: Limit;
  readonly target?: Limit;
  readonly startValue?: number;
  readonly timeZone?: string;
  readonly dayStart?: string;
}

/** Either a percentage of the value from which the rule measures, or an amount. */
export interface Limit {
  readonly percent?: number;
  readonly amount?: number;
}

/** The risk rules of an account. Version 0 means that the account never had rules. */
export interface RuleVersion {
  readonly version: number;
  readonly rules: readonly Rule[];
  readonly commandId: string | null;
  readonly activeFrom: string | null;
  /**
   * For each rule id, the version that added the rule. If the next version has a rule with the same
   * id and type, this entry stays, even if the rule's other fields change.
   */
  readonly since: ReadonlyMap<string, number>;
}

/** A breach as the API shows it. */
export interface Breach extends Json {
  readonly id: string;
  readonly rule: Rule;
}

/** A command of the fake, found by its idempotency key. */
export interface StoredCommand {
  /** Equal for equal requests. Another request with the same key is rejected. */
  readonly fingerprint: string;
  /** The command as the API shows it. */
  readonly view: MutableJson;
  /** Carries the command out. */
  readonly run: () => CommandOutcome;
}

/** The outcome of a command. */
export type CommandOutcome = { readonly result: Json } | { readonly errorCode: string };

/** A transaction to book. */
export interface Booking {
  readonly type: string;
  readonly amountMinor: number;
  readonly description?: string | null;
  readonly requestId?: string | null;
  readonly commandId?: string | null;
  readonly positionId?: string | null;
}

/** All data of one fake, and the changes of the data that several parts of the fake need. */
export class FakeState {
  readonly organizationId = randomUUID();
  /** By account number; deleted accounts too. */
  readonly accounts = new Map<string, StoredAccount>();
  /** By idempotency key. */
  readonly commands = new Map<string, StoredCommand>();
  /** The event feed, oldest first. */
  readonly events: MutableJson[] = [];
  /** The billed requests. */
  readonly usage: Json[] = [];
  availableCredits = CREDITS;
  consumedCredits = 0;
  readonly #now: () => Date;
  #nextAccountNumber = FIRST_ACCOUNT_NUMBER;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** The time for a new record, as ISO 8601. */
  now(): string {
    return this.#now().toISOString();
  }

  /** Undefined for an account that is unknown, deleted, or of another server. */
  account(serverId: string, accountNumber: string): StoredAccount | undefined {
    const found = this.accounts.get(accountNumber);
    return found?.serverId === serverId && found.status !== "deleted" ? found : undefined;
  }

  /** Creates an active account with balance 0, and announces it. */
  create(
    serverId: string,
    id: string,
    fields: { accountName: string; initialBalance: number; leverage: number },
  ): StoredAccount {
    const account: StoredAccount = {
      id,
      serverId,
      accountNumber: String(this.#nextAccountNumber),
      createdAt: this.now(),
      accountName: fields.accountName,
      leverage: fields.leverage,
      initialBalanceMinor: minorOf(fields.initialBalance),
      status: "active",
      balanceMinor: 0,
      profitMinor: 0,
      version: 1,
      transactions: [],
      orders: [],
      positions: [],
      deals: [],
      rules: { version: 0, rules: [], commandId: null, activeFrom: null, since: new Map() },
      breaches: [],
    };
    this.#nextAccountNumber += 1;
    this.accounts.set(account.accountNumber, account);
    this.announce("account.created", account, this.accountData(account));
    return account;
  }

  /** Adds a transaction, and changes the balance by its amount. */
  book(account: StoredAccount, booking: Booking): Json {
    const balanceBefore = account.balanceMinor;
    account.balanceMinor += booking.amountMinor;
    const transaction = {
      id: randomUUID(),
      accountNumber: account.accountNumber,
      sequence: account.transactions.length + 1,
      type: booking.type,
      amount: amountOf(booking.amountMinor),
      currency: "USD",
      balanceBefore: amountOf(balanceBefore),
      balanceAfter: amountOf(account.balanceMinor),
      description: booking.description ?? null,
      requestId: booking.requestId ?? null,
      commandId: booking.commandId ?? null,
      orderId: null,
      positionId: booking.positionId ?? null,
      dealId: null,
      reversalOf: null,
      createdBy: null,
      recordedAt: this.now(),
      createdAt: this.now(),
    };
    account.transactions.push(transaction);
    this.announce("transaction.recorded", account, transaction);
    return transaction;
  }

  /**
   * Adds an event to the feed. The events of an account get an `accountSequence`, except those
   * whose type begins with `risk.`.
   */
  announce(type: string, account: Account | null, data: Json): MutableJson {
    const id = randomUUID();
    const ofAccount = this.events
      .map((event) => event["data"] as Json)
      .filter((counted) => counted["accountNumber"] === account?.accountNumber && counted["accountSequence"] !== null);
    const isCounted = account !== null && !type.startsWith("risk.");
    const event = {
      id,
      cursor: String(this.events.length + 1),
      type,
      timestamp: this.now(),
      data: {
        eventId: id,
        organizationId: this.organizationId,
        serverId: account?.serverId ?? null,
        accountNumber: account?.accountNumber ?? null,
        accountSequence: isCounted ? ofAccount.length + 1 : null,
        ...data,
      },
    };
    this.events.push(event);
    return event;
  }

  /** The fields of an account in its events. */
  accountData(account: StoredAccount): Json {
    const { id: accountId, version, accountName, status, leverage } = account;
    return { accountId, version, accountName, status, leverage };
  }
}

/** Cents of an amount in units of currency. */
export function minorOf(amount: number): number {
  return Math.round(amount * CENTS);
}

/** An amount in units of currency. */
export function amountOf(minor: number): number {
  return minor / CENTS;
}

/** A UUID that is always the same for the same name. */
export function uuidOf(...names: readonly string[]): string {
  const hex = createHash("sha256").update(names.join("\u0000")).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
