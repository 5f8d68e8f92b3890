import type { CreditPrices, CreditUsage, Wallet } from "../generated/api.ts";
import { pathOf, type Transport } from "../http/transport.ts";
import type { List } from "../list.ts";
import { filterQuery, listOf, type Period } from "./pages.ts";

/** Selects usage lines by their time and fields. A field that is not given is not compared. */
export interface UsageFilter extends Period {
  /** The operation's id, such as `listTradingAccounts`. */
  readonly operation?: string | undefined;
  /** `X-Request-Id` of the request. */
  readonly xRequestId?: string | undefined;
  readonly commandId?: string | undefined;
}

/** The credits of the organization: `kapi.credits`. */
export class CreditsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Reads the wallet. */
  async balance(): Promise<Wallet> {
    const path = pathOf("credits", "balance");
    return (await this.#transport.request<{ wallet: Wallet }>({ method: "GET", path })).body.wallet;
  }

  /** Reads the price of each kind of request, in credits. */
  async prices(): Promise<CreditPrices> {
    const path = pathOf("credits", "prices");
    return (await this.#transport.request<{ prices: CreditPrices }>({ method: "GET", path })).body.prices;
  }

  /**
   * One line for each billed request or reservation of a command, newest first. Refunds and
   * released reservations are lines with negative `credits`.
   */
  usage(filter: UsageFilter = {}): List<CreditUsage> {
    return listOf<CreditUsage>(this.#transport, pathOf("credits", "usage"), "usage", filterQuery({ ...filter }));
  }
}
