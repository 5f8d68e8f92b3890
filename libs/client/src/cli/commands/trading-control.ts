import { Failure, UsageError } from "../exit.ts";
import type { Connection } from "../surroundings.ts";

const TIMEOUT_MS = 10_000;

/** Trades on accounts of a simulated trading server, over its control API. */
export class TradingControl {
  readonly #server: string;
  readonly #api: string;
  readonly #token: string | undefined;

  /** @throws UsageError if no control API is known. */
  constructor({ controlUrl, controlToken }: Connection, serverId: string) {
    if (controlUrl === undefined) {
      throw new UsageError("Trades happen on a simulated server only: set KAPI_CONTROL_URL to its control API.");
    }
    this.#api = `${controlUrl.replace(/\/+$/, "")}/control/v1`;
    this.#server = `/servers/${serverId}`;
    this.#token = controlToken;
  }

  /** Buys at the market price, and returns the id of the position. Volumes are in lots. */
  async buy(accountNumber: string, symbol: string, volume: number): Promise<string> {
    const order = { symbol, side: "buy", volume };
    const answer = await this.#call<{ positionId: string }>("POST", this.#at(accountNumber, "orders"), order);
    return answer.positionId;
  }

  /** Places a buy order that waits for `price`, and cancels it. */
  async placeAndCancel(accountNumber: string, symbol: string, volume: number, price: number): Promise<void> {
    const body = { symbol, side: "buy", orderType: "limit", volume, price };
    const placed = await this.#call<{ order: { id: string } }>("POST", this.#at(accountNumber, "orders"), body);
    await this.#call("DELETE", this.#at(accountNumber, `orders/${placed.order.id}`));
  }

  /** Closes a position, or `volume` lots of it. */
  async close(accountNumber: string, positionId: string, volume: number | null = null): Promise<void> {
    await this.#call("POST", this.#at(accountNumber, `positions/${positionId}/close`), { volume });
  }

  /** The price to buy at. */
  async ask(symbol: string): Promise<number> {
    const path = `${this.#server}/prices`;
    const { prices } = await this.#call<{ prices: { symbol: string; ask: number }[] }>("GET", path);
    const found = prices.find((price) => price.symbol === symbol);
    if (found === undefined) throw new Failure(`The server has no price of ${symbol}.`);
    return found.ask;
  }

  #at(accountNumber: string, path: string): string {
    return `${this.#server}/accounts/${encodeURIComponent(accountNumber)}/${path}`;
  }

  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.#api + path, {
        method,
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(this.#token === undefined ? {} : { "x-internal-token": this.#token }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await response.text();
    } catch (error) {
      throw new Failure(`The control API at ${this.#api} cannot be reached: ${String(error)}`);
    }
    if (!response.ok) throw new Failure(`The control API answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }
}
