import type { QueuedCommand } from "../commands/queued-command.ts";
import type { CommandOperation, ExportRecord } from "../commands/results.ts";
import type { BreachEvidence, IntervalEvidence } from "../evidence/document.ts";
import type {
  AccountCredentials,
  AccountRiskRules,
  AccountState,
  AccountStateAnswer,
  Deal,
  DeletedAccountAnswer,
  Money,
  Order,
  Position,
  RiskBreach,
  RiskRule,
  RiskRulesAnswer,
  TradingAccount,
  Transaction,
} from "../generated/api.ts";
import { pathOf, type Query, type Transport } from "../http/transport.ts";
import type { List } from "../list.ts";
import type { CommandsResource, QueueOptions } from "./commands.ts";
import { exportRecords, type ExportOptions } from "./export.ts";
import { filterQuery, listOf, type Period } from "./pages.ts";

/** An account with its live values, and its access data without passwords. */
export interface AccountDetails {
  readonly account: TradingAccount;
  readonly credentials: AccountCredentials;
}

/**
 * Selects transactions by `recordedAt` and by their fields. A field that is not given is not
 * compared.
 */
export interface TransactionFilter extends Period {
  readonly type?: Transaction["type"] | undefined;
  readonly orderId?: string | undefined;
  readonly positionId?: string | undefined;
  readonly dealId?: string | undefined;
  readonly commandId?: string | undefined;
  readonly requestId?: string | undefined;
}

/** Selects orders by `createdAt` and by their fields. A field that is not given is not compared. */
export interface OrderFilter extends Period {
  readonly symbol?: string | undefined;
  readonly side?: string | undefined;
  readonly status?: string | undefined;
  readonly orderType?: string | undefined;
}

/** Selects positions by `openedAt` and by their fields. Without `status`, all positions. */
export interface PositionFilter extends Period {
  readonly status?: "all" | "open" | "closed" | undefined;
  readonly symbol?: string | undefined;
  readonly side?: string | undefined;
  readonly orderId?: string | undefined;
}

/** Selects deals by `executedAt` and by their fields. A field that is not given is not compared. */
export interface DealFilter extends Period {
  readonly symbol?: string | undefined;
  readonly side?: string | undefined;
  readonly kind?: string | undefined;
  readonly orderId?: string | undefined;
  readonly positionId?: string | undefined;
}

/** At least one field; missing fields are unchanged. */
export interface AccountChanges {
  /** 1 to 100 characters. */
  readonly accountName?: string | undefined;
  /** One of the leverages that the server supports. */
  readonly leverage?: number | undefined;
}

/** What to deposit or withdraw, in the currency of the account. */
export interface Funds {
  /** Decimal amount above 0, with at most two decimals, such as `"250.55"`. */
  readonly amount: Money;
  /** At most 250 characters. The transaction has this text. */
  readonly description?: string | undefined;
}

/** Selects breaches by the time of their valuation, and by rule. */
export interface BreachFilter extends Period {
  readonly ruleId?: string | undefined;
}

/** One trading account: `kapi.server(id).account(number)`. */
export class AccountResource {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly #transport: Transport;
  readonly #commands: CommandsResource;

  constructor(transport: Transport, commands: CommandsResource, serverId: string, accountNumber: string) {
    this.#transport = transport;
    this.#commands = commands;
    this.serverId = serverId;
    this.accountNumber = accountNumber;
  }

  /** Reads the account with its live values. */
  async get(): Promise<AccountDetails> {
    return (await this.#transport.request<AccountDetails>({ method: "GET", path: this.#path() })).body;
  }

  /** Queues a change of name or leverage. */
  update(changes: AccountChanges, options: QueueOptions): Promise<QueuedCommand<"account.update">> {
    return this.#commands.queue({ method: "PATCH", path: this.#path(), body: changes }, options);
  }

  /** Queues the enabling of an account that is close-only, disabled or archived. */
  enable(options: QueueOptions): Promise<QueuedCommand<"account.enable">> {
    return this.#queue(options, {}, "enable");
  }

  /**
   * Queues the disabling of the account, which then accepts no new orders. With `flatten`, open
   * positions are closed and pending orders are cancelled. Without `flatten`, open positions stay
   * open and are still valued.
   */
  disable(
    options: QueueOptions & { readonly flatten?: boolean | undefined },
  ): Promise<QueuedCommand<"account.disable">> {
    return this.#queue(options, { flatten: options.flatten }, "disable");
  }

  /** Queues the closing of all positions, and the cancelling of all pending orders. */
  flatten(options: QueueOptions): Promise<QueuedCommand<"account.flatten">> {
    return this.#queue(options, {}, "flatten");
  }

  /**
   * Queues the change to close-only: the account can reduce and close positions. Its pending orders
   * that would open or increase a position are cancelled. `enable` ends close-only.
   */
  closeOnly(options: QueueOptions): Promise<QueuedCommand<"account.close_only">> {
    return this.#queue(options, {}, "close-only");
  }

  /** Queues the archiving of the account, which must have no open positions. */
  archive(options: QueueOptions): Promise<QueuedCommand<"account.archive">> {
    return this.#queue(options, {}, "archive");
  }

  /** Queues the deletion of the account, which must have no open positions. */
  delete(options: QueueOptions): Promise<QueuedCommand<"account.delete">> {
    return this.#queue(options, {}, "delete");
  }

  /** Deletes the account with its history, within the request. Open positions are closed. */
  async deleteImmediately(): Promise<DeletedAccountAnswer> {
    return (await this.#transport.request<DeletedAccountAnswer>({ method: "DELETE", path: this.#path() })).body;
  }

  /**
   * Queues a new trading password, which the returned command has. Without the option `password`,
   * kapi generates the password.
   */
  resetTradingPassword(
    options: QueueOptions & { readonly password?: string | undefined },
  ): Promise<QueuedCommand<"account.password_reset">> {
    return this.#queue(options, { password: options.password }, "password-reset");
  }

  /**
   * Queues a new investor password, which the returned command has. Without the option `password`,
   * kapi generates the password.
   */
  resetInvestorPassword(
    options: QueueOptions & { readonly password?: string | undefined },
  ): Promise<QueuedCommand<"account.investor_password_reset">> {
    return this.#queue(options, { password: options.password }, "investor-password-reset");
  }

  /** Queues a deposit of a decimal amount, such as `"250.55"`. */
  deposit(funds: Funds, options: QueueOptions): Promise<QueuedCommand<"finance.deposit">> {
    return this.#queue(options, funds, "finance", "deposits");
  }

  /** Queues a withdrawal. The command fails for more than the balance or the free margin. */
  withdraw(funds: Funds, options: QueueOptions): Promise<QueuedCommand<"finance.withdraw">> {
    return this.#queue(options, funds, "finance", "withdrawals");
  }

  /** Reads the active risk rules. Version 0 means that the account never had rules. */
  async riskRules(): Promise<AccountRiskRules> {
    const { body } = await this.#transport.request<RiskRulesAnswer>({ method: "GET", path: this.#path("risk-rules") });
    return body.riskRules;
  }

  /** Queues new risk rules, which replace all rules of the account. */
  setRiskRules(rules: readonly RiskRule[], options: QueueOptions): Promise<QueuedCommand<"risk.set_rules">> {
    return this.#commands.queue({ method: "PUT", path: this.#path("risk-rules"), body: { rules } }, options);
  }

  /**
   * Queues the removal of all risk rules. The breaches stay. With `useTemplate` the account gets
   * the rules of the oldest risk template that matches it; the command fails if none matches.
   */
  deleteRiskRules(
    options: QueueOptions & { readonly useTemplate?: boolean | undefined },
  ): Promise<QueuedCommand<"risk.delete_rules">> {
    const body = options.useTemplate === true ? { useTemplate: true } : {};
    return this.#commands.queue({ method: "DELETE", path: this.#path("risk-rules"), body }, options);
  }

  /** The breaches of risk rules, newest first. */
  breaches(filter: BreachFilter = {}): List<RiskBreach> {
    return this.#list<RiskBreach>("breaches", { ...filter });
  }

  /**
   * Reads the evidence of a breach, which `verifyEvidence` verifies. The evidence is complete about
   * a minute and a half after the breach.
   * @throws ConflictError with the code `EVIDENCE_PENDING` until then.
   */
  async breachEvidence(breachId: string): Promise<BreachEvidence> {
    const path = this.#path("breaches", breachId, "evidence");
    return (await this.#transport.request<BreachEvidence>({ method: "GET", path })).body;
  }

  /**
   * Reads the evidence of an interval of at most 10 minutes, within the last 24 hours. `from` and
   * `to` are included.
   */
  async intervalEvidence({ from, to }: { readonly from: Date; readonly to: Date }): Promise<IntervalEvidence> {
    const query = { from: from.toISOString(), to: to.toISOString() };
    const path = this.#path("evidence");
    return (await this.#transport.request<IntervalEvidence>({ method: "GET", path, query })).body;
  }

  /** The transactions of the account, newest first. */
  transactions(filter: TransactionFilter = {}): List<Transaction> {
    return this.#list<Transaction>("transactions", { ...filter });
  }

  /** The orders of the account, newest first. */
  orders(filter: OrderFilter = {}): List<Order> {
    return this.#list<Order>("orders", { ...filter });
  }

  /** The positions of the account, newest first. With `status: "open"` the list is never stale. */
  positions(filter: PositionFilter = {}): List<Position> {
    return this.#list<Position>("positions", { ...filter });
  }

  /** The deals of the account, newest first. */
  deals(filter: DealFilter = {}): List<Deal> {
    return this.#list<Deal>("deals", { ...filter });
  }

  /**
   * Reads the account as it was at a time: balance, open positions, last stored equity. Balance
   * and positions include everything up to the end of the millisecond `at`. Of more than 5,000
   * positions, the newest 5,000 are returned.
   */
  async stateAt(at: Date): Promise<AccountState> {
    const request = { method: "GET", path: this.#path("state"), query: { at } } as const;
    return (await this.#transport.request<AccountStateAnswer>(request)).body.state;
  }

  /** The number of open positions at this moment; never stale. */
  async openPositionCount(): Promise<number> {
    return (await this.positions({ status: "open" }).page({ limit: 1 })).total;
  }

  /**
   * Exports the history of the account, newest first: transactions, orders, positions and deals
   * together, each record once. Queues commands one after the other, each for at most 1,000
   * records. The idempotency keys of the later commands are derived from `key`.
   */
  export(options: ExportOptions): AsyncGenerator<ExportRecord, void, undefined> {
    return exportRecords((body, queueOptions) => this.#queue(queueOptions, body, "exports", "history"), options);
  }

  #path(...segments: readonly string[]): string {
    return pathOf("servers", this.serverId, "accounts", this.accountNumber, ...segments);
  }

  #queue<Operation extends CommandOperation>(
    options: QueueOptions,
    body: object,
    ...segments: readonly string[]
  ): Promise<QueuedCommand<Operation>> {
    return this.#commands.queue<Operation>({ method: "POST", path: this.#path(...segments), body }, options);
  }

  #list<T>(field: string, filter: Period & Query): List<T> {
    return listOf<T>(this.#transport, this.#path(field), field, filterQuery(filter));
  }
}
