import { type BookDay, type Reconciliation, reconcileDay, type ReconcileOptions } from "../digests/reconcile.ts";
import type {
  AccountDigest,
  AccountMetricSnapshot,
  Command,
  Deal,
  Server,
  Transaction,
  UpdateServerConfiguration,
} from "../generated/api.ts";
import { pathOf, type Transport } from "../http/transport.ts";
import type { List } from "../list.ts";
import { AccountResource } from "./account.ts";
import { AccountsResource } from "./accounts.ts";
import type { CommandFilter, CommandsResource } from "./commands.ts";
import { listOf } from "./pages.ts";
import { RiskTemplatesResource } from "./risk-templates.ts";

/** Selects stored snapshots. An account that does not exist has no snapshots. */
export interface SnapshotFilter {
  readonly accountNumber?: string | undefined;
  /** Snapshots measured at or after this time. */
  readonly since?: Date | string | undefined;
  /** Snapshots measured before this time. */
  readonly until?: Date | string | undefined;
  /** Maximum number of snapshots, 1 to 1,000; default 100. */
  readonly limit?: number | undefined;
}

const DAY_MS = 86_400_000;
/** Maximum number of transactions, or of deals, that `reconcile` reads for one account. */
const MAX_DAY_RECORDS = 1_000_000;

/** One trading server: `kapi.server(id)`. */
export class ServerResource {
  readonly id: string;
  readonly accounts: AccountsResource;
  readonly riskTemplates: RiskTemplatesResource;
  readonly #transport: Transport;
  readonly #commands: CommandsResource;

  constructor(transport: Transport, commands: CommandsResource, id: string) {
    this.#transport = transport;
    this.#commands = commands;
    this.id = id;
    this.accounts = new AccountsResource(transport, commands, id);
    this.riskTemplates = new RiskTemplatesResource(transport, commands, id);
  }

  /** One account of the server. */
  account(accountNumber: string): AccountResource {
    return new AccountResource(this.#transport, this.#commands, this.id, accountNumber);
  }

  /** The commands of the server, newest first. */
  commands(filter: CommandFilter = {}): List<Command> {
    return this.#commands.list(this.id, filter);
  }

  /** Reads the configuration of the server. */
  async configuration(): Promise<Server> {
    const path = this.#path("configuration");
    return (await this.#transport.request<{ server: Server }>({ method: "GET", path })).body.server;
  }

  /**
   * Changes leverages and currency at once, without a command. Missing fields are unchanged, except
   * that a default leverage which is no longer supported becomes null.
   */
  async updateConfiguration(changes: UpdateServerConfiguration): Promise<Server> {
    const path = this.#path("configuration");
    return (await this.#transport.request<{ server: Server }>({ method: "PATCH", path, body: changes })).body.server;
  }

  /** Stored snapshots, newest first: one per account and minute in which the account changed. */
  async snapshots(filter: SnapshotFilter = {}): Promise<readonly AccountMetricSnapshot[]> {
    const { body } = await this.#transport.request<{ snapshots: AccountMetricSnapshot[] }>({
      method: "GET",
      path: this.#path("account-metrics"),
      query: { ...filter },
    });
    return body.snapshots;
  }

  /**
   * The digests of all accounts for one day that is over, sorted by account number. `date`: the day
   * in UTC, `YYYY-MM-DD`. Rejects with `InvalidRequestError` if the day is not over, and with
   * `ConflictError` for some minutes after its end, until its digests are complete. Rejects with
   * `NotFoundError` if kapi has no digests of the day.
   */
  digests({ date }: { readonly date: string }): List<AccountDigest> {
    return listOf<AccountDigest>(this.#transport, this.#path("digests"), "digests", { date });
  }

  /**
   * Compares a day that is over with your own book. Returns the first difference of each account
   * that differs, for at most `maxDifferences` accounts; if transactions or deals differ, with the
   * first record that differs. An account that only one side has is a difference too. Rejects with
   * TypeError if the book has an account twice, or a text that is not an amount.
   */
  reconcile(
    date: string,
    book: Iterable<BookDay> | AsyncIterable<BookDay>,
    options?: ReconcileOptions,
  ): Promise<Reconciliation> {
    const since = new Date(`${date}T00:00:00Z`);
    const period = { since, until: new Date(since.getTime() + DAY_MS) };
    const records = async (kind: "transactions" | "deals", accountNumber: string) => {
      const account = this.account(accountNumber);
      const list: List<Transaction | Deal> = kind === "deals" ? account.deals(period) : account.transactions(period);
      return (await list.toArray({ maxRecords: MAX_DAY_RECORDS })).reverse();
    };
    return reconcileDay({ digests: this.digests({ date }), records }, date, book, options);
  }

  #path(...segments: readonly string[]): string {
    return pathOf("servers", this.id, ...segments);
  }
}
