/** The lists about one account (contracts, `http/history.ts`, `http/finance.ts` and others). */
import type { AccountRef } from "@kapi/contracts";
import { type Client, queryOf } from "./client.ts";
import type {
  AccountDeliveriesAnswer,
  AuditAnswer,
  Command,
  Deal,
  Order,
  Pagination,
  Position,
  RiskBreach,
  Transaction,
} from "./shapes.ts";

/** The answer of each list, by the name of its route. */
interface Answers {
  orders: { readonly orders: Order[]; readonly pagination: Pagination };
  positions: { readonly positions: Position[]; readonly pagination: Pagination };
  deals: { readonly deals: Deal[]; readonly pagination: Pagination };
  transactions: { readonly transactions: Transaction[]; readonly pagination: Pagination };
  commands: { readonly commands: Command[]; readonly pagination: Pagination };
  breaches: { readonly breaches: RiskBreach[]; readonly pagination: Pagination };
  deliveries: AccountDeliveriesAnswer;
  audit: AuditAnswer;
}

/** Fields of the query of a list, by their names in the API. Empty texts filter nothing. */
export type ListQuery = Readonly<Record<string, string | number>>;

/** Requests for the lists about an account. They throw a `Failure` on error. */
export class AccountLists {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** A page of one list: the records that match the query, with the cursor of the next page. */
  page<List extends keyof Answers>(
    list: List,
    account: AccountRef,
    query: ListQuery,
    signal: AbortSignal,
  ): Promise<Answers[List]> {
    return this.#client.request(`${pathOf(account)}/${list}${queryOf(query)}`, { signal });
  }

  /** Path of the records that match, as CSV. */
  csv(list: keyof Answers, account: AccountRef, query: ListQuery): string {
    return `${pathOf(account)}/${list}.csv${queryOf(query)}`;
  }
}

function pathOf({ serverId, accountNumber }: AccountRef): string {
  return `/servers/${encodeURIComponent(serverId)}/accounts/${encodeURIComponent(accountNumber)}`;
}
