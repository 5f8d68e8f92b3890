/** The control API of the simulated trading server, as a person at its desk would use it. */
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

export class TradingControl {
  readonly #base: string;

  constructor(demo: Demo) {
    this.#base = `${demo.tradingServerUrl}/control/v1/servers/${demo.serverId}`;
  }

  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(this.#base + path, {
      method,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }

  async account(accountNumber: string): Promise<Snapshot> {
    return (await this.#call<{ account: Snapshot }>("GET", `/accounts/${accountNumber}`)).account;
  }

  /** Opens a position at the market; gives its id. */
  async buy(accountNumber: string, symbol: string, volume: number): Promise<string> {
    const body = { symbol, side: "buy", orderType: "market", volume };
    const { positionId } = await this.#call<{ positionId: string }>("POST", `/accounts/${accountNumber}/orders`, body);
    return positionId;
  }

  async close(accountNumber: string, positionId: string): Promise<void> {
    await this.#call("POST", `/accounts/${accountNumber}/positions/${positionId}/close`, {});
  }

  async price(symbol: string): Promise<{ bid: number; ask: number }> {
    const { prices } = await this.#call<{ prices: { symbol: string; bid: number; ask: number }[] }>("GET", "/prices");
    const found = prices.find((price) => price.symbol === symbol);
    if (found === undefined) throw new Error(`no price of ${symbol}`);
    return found;
  }

  async movePrice(symbol: string, points: number): Promise<void> {
    await this.#call("POST", `/prices/${symbol}/move`, { points });
  }

  async autoTrade(accountNumber: string): Promise<void> {
    await this.#call("PUT", `/accounts/${accountNumber}/auto-trader`, { enabled: true, everyTicks: 1 });
  }

  async inject(fault: Fault): Promise<void> {
    await this.#call("POST", "/faults", fault);
  }

  async clearFaults(): Promise<void> {
    await this.#call("DELETE", "/faults");
  }
}
