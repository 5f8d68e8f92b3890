/** A client of the control API of the trading server simulator. */
import type { Demo } from "./outside-client.ts";

export interface Snapshot {
  readonly balanceMinor: number;
  readonly equityMinor: number;
  readonly openPositionCount: number;
  readonly sequence: number;
}

export interface Fault {
  readonly kind: "delay" | "refuse" | "drop_answer" | "apply_late" | "unreachable";
  readonly operation?: string;
  readonly accountNumber?: string;
  readonly count?: number | null;
  readonly delayMs?: number;
}

/**
 * Controls the simulated trading server of a demo organization. Each method throws for an
 * unexpected status.
 */
export class TradingControl {
  readonly #base: string;
  readonly #token: Readonly<Record<string, string>>;

  constructor(demo: Demo) {
    this.#base = `${demo.tradingServerUrl}/control/v1/servers/${demo.serverId}`;
    this.#token = demo.controlToken === undefined ? {} : { "x-internal-token": demo.controlToken };
  }

  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(this.#base + path, {
      method,
      headers: body === undefined ? this.#token : { ...this.#token, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }

  /**
   * Sends a POST. Returns null if the state forbids the change (409), or if the object is missing
   * (404).
   */
  async #attempt<T>(path: string, body: object): Promise<T | null> {
    const response = await fetch(this.#base + path, {
      method: "POST",
      headers: { ...this.#token, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text) as T;
    if (response.status === 409 || response.status === 404) return null;
    throw new Error(`POST ${path} answered ${response.status} ${text}`);
  }

  async account(accountNumber: string): Promise<Snapshot> {
    return (await this.#call<{ account: Snapshot }>("GET", `/accounts/${accountNumber}`)).account;
  }

  /** Opens a position at the market price. Returns its id. */
  async buy(accountNumber: string, symbol: string, volume: number): Promise<string> {
    const body = { symbol, side: "buy", orderType: "market", volume };
    const { positionId } = await this.#call<{ positionId: string }>("POST", `/accounts/${accountNumber}/orders`, body);
    return positionId;
  }

  async close(accountNumber: string, positionId: string): Promise<void> {
    await this.#call("POST", `/accounts/${accountNumber}/positions/${positionId}/close`, {});
  }

  /** Places an order. Returns the id of the opened position, or null if none was opened. */
  async order(accountNumber: string, body: object): Promise<string | null> {
    const answer = await this.#attempt<{ positionId: string | null }>(`/accounts/${accountNumber}/orders`, body);
    return answer?.positionId ?? null;
  }

  /**
   * Closes `volume` lots of a position, or the whole position if `volume` is null. A rejection is
   * ignored: the position is not open, or its market is closed.
   */
  async closeIfOpen(accountNumber: string, positionId: string, volume: number | null): Promise<void> {
    await this.#attempt(`/accounts/${accountNumber}/positions/${positionId}/close`, { volume });
  }

  /** The access that a password gives: "trading", "investor", or null for a wrong password. */
  async login(accountNumber: string, password: string): Promise<string | null> {
    const response = await fetch(`${this.#base}/accounts/${accountNumber}/login`, {
      method: "POST",
      headers: { ...this.#token, "content-type": "application/json" },
      body: JSON.stringify({ password }),
      signal: AbortSignal.timeout(30_000),
    });
    if (response.status === 401) return null;
    if (response.status !== 200) throw new Error(`the login of ${accountNumber} was answered ${response.status}`);
    return ((await response.json()) as { access: string }).access;
  }

  async price(symbol: string): Promise<{ bid: number; ask: number }> {
    const { prices } = await this.#call<{ prices: { symbol: string; bid: number; ask: number }[] }>("GET", "/prices");
    const found = prices.find((price) => price.symbol === symbol);
    if (found === undefined) throw new Error(`no price of ${symbol}`);
    return found;
  }

  /** Sets the price of a symbol. The market's feed no longer changes the price. */
  async holdPrice(symbol: string, bid: number, ask: number): Promise<void> {
    await this.#call("PUT", `/prices/${symbol}`, { bid, ask, hold: true });
  }

  /** Adds `points` to the price of a symbol. A point is one unit of the price's last decimal. */
  async movePrice(symbol: string, points: number): Promise<void> {
    await this.#call("POST", `/prices/${symbol}/move`, { points });
  }

  /** Closes or opens the market of a symbol. */
  async openMarket(symbol: string, open: boolean): Promise<void> {
    await this.#call("PUT", `/prices/${symbol}/market`, { open });
  }

  /** Stops all prices of the server. */
  async pauseMarket(): Promise<void> {
    await this.#call("PUT", "/market", { paused: true });
  }

  /** Makes the account trade automatically, with one decision every `everyTicks` ticks. */
  async autoTrade(accountNumber: string, everyTicks = 1): Promise<void> {
    await this.#call("PUT", `/accounts/${accountNumber}/auto-trader`, { enabled: true, everyTicks });
  }

  async endAutoTrade(accountNumber: string): Promise<void> {
    await this.#call("PUT", `/accounts/${accountNumber}/auto-trader`, { enabled: false });
  }

  /** The ids of the open positions. */
  async openPositions(accountNumber: string): Promise<string[]> {
    const { positions } = await this.#call<{ positions: { id: string }[] }>("GET", `/accounts/${accountNumber}`);
    return positions.map(({ id }) => id);
  }

  /** The ids of the pending orders. */
  async pendingOrders(accountNumber: string): Promise<string[]> {
    const { orders } = await this.#call<{ orders: { id: string }[] }>("GET", `/accounts/${accountNumber}`);
    return orders.map(({ id }) => id);
  }

  async inject(fault: Fault): Promise<void> {
    await this.#call("POST", "/faults", fault);
  }

  async clearFaults(): Promise<void> {
    await this.#call("DELETE", "/faults");
  }
}
