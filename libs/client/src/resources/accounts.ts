import { PartialBulkError } from "../commands/partial-bulk-error.ts";
import { QueuedCommand } from "../commands/queued-command.ts";
import type { CommandEnvelope, Money, TradingAccount } from "../generated/api.ts";
import { pathOf, type Transport } from "../http/transport.ts";
import type { List } from "../list.ts";
import type { AccountDetails } from "./account.ts";
import type { CommandsResource, QueueOptions } from "./commands.ts";
import { listOf } from "./pages.ts";

/** Maximum number of accounts in one request. */
const ACCOUNTS_PER_CALL = 100;

/** An account to create. kapi chooses its number; its currency is that of the server. */
export interface NewAccount {
  /** 1 to 100 characters. */
  readonly accountName: string;
  /** Decimal amount, such as `"10000"`; `"0"` is valid. */
  readonly initialBalance: Money;
  /** One of the leverages that the server supports. */
  readonly leverage: number;
  /** 8 to 128 characters; without it one is generated. */
  readonly password?: string | undefined;
}

/** Selects accounts of a server. With both fields, an account must match both. */
export interface AccountFilter {
  readonly status?: TradingAccount["status"] | undefined;
  /** Part of the number or of the name. */
  readonly search?: string | undefined;
}

/** The accounts of a server: `kapi.server(id).accounts`. */
export class AccountsResource {
  readonly #transport: Transport;
  readonly #commands: CommandsResource;
  readonly #serverId: string;

  constructor(transport: Transport, commands: CommandsResource, serverId: string) {
    this.#transport = transport;
    this.#commands = commands;
    this.#serverId = serverId;
  }

  /**
   * Queues a new account. The command's `credentials` are in the first answer only: store them
   * before you wait for the result.
   */
  create(account: NewAccount, options: QueueOptions): Promise<QueuedCommand<"account.create">> {
    return this.#commands.queue({ method: "POST", path: this.#path(), body: account }, options);
  }

  /**
   * Queues any number of accounts and returns their commands, in order. Each request has up to 100
   * accounts. Idempotency keys are derived: `<key>:<index>` in the first request, and
   * `<key>.<n>:<index>` in the n-th request after it. `index` counts from 0 in each request. To
   * retry, repeat the call with the same accounts and key.
   * @throws PartialBulkError if some of the accounts were queued before a request failed or was
   * aborted: the error has the commands of these accounts. The error of the first request, or the
   * reason of its abort, is thrown as it is.
   */
  async createMany(
    accounts: readonly NewAccount[],
    { key, requestId, signal }: QueueOptions,
  ): Promise<QueuedCommand<"account.create">[]> {
    const queued: QueuedCommand<"account.create">[] = [];
    for (let from = 0; from < accounts.length; from += ACCOUNTS_PER_CALL) {
      const part = from / ACCOUNTS_PER_CALL;
      const items = accounts.slice(from, from + ACCOUNTS_PER_CALL);
      try {
        const { body } = await this.#transport.request<{ results: CommandEnvelope[] }>({
          method: "POST",
          path: this.#path("bulk"),
          body: { accounts: items.map((account) => Object.assign({ requestId: requestId ?? key }, account)) },
          idempotencyKey: part === 0 ? key : `${key}.${part}`,
          ...(signal === undefined ? {} : { signal }),
        });
        queued.push(...body.results.map((envelope) => new QueuedCommand<"account.create">(this.#commands, envelope)));
      } catch (error) {
        if (queued.length === 0) throw error;
        throw new PartialBulkError(queued, accounts.length, error);
      }
    }
    return queued;
  }

  /** The accounts of the server, newest first. */
  list(filter: AccountFilter = {}): List<TradingAccount> {
    return listOf<TradingAccount>(this.#transport, this.#path(), "accounts", { ...filter });
  }

  /** Reads one account with its live values. */
  async get(accountNumber: string): Promise<AccountDetails> {
    return (await this.#transport.request<AccountDetails>({ method: "GET", path: this.#path(accountNumber) })).body;
  }

  #path(...segments: readonly string[]): string {
    return pathOf("servers", this.#serverId, "accounts", ...segments);
  }
}
