import { createServer } from "node:http";

import type { TradingEvent } from "@kapi/contracts";
import type { AccountSnapshot } from "@kapi/trading-server";

/**
 * A read-only stand-in for a trading server, for unusual histories and balances. It answers 503
 * until it gets the events of its only account.
 */
export interface HistoryServer {
  readonly url: string;
  /** Number of history reads. */
  readonly asked: number;
  /** Sets the events of the account, and its balance if `balanceMinor` is given. */
  answer(events: readonly TradingEvent[], balanceMinor?: number): void;
  /** Forgets the account, as if it never existed. */
  forget(): void;
  stop(): Promise<void>;
}

interface Known {
  readonly events: readonly TradingEvent[];
  readonly balanceMinor: number | undefined;
}

/** Starts the server on a free port. */
export async function startHistoryServer(): Promise<HistoryServer> {
  let asked = 0;
  let known: Known | null = null;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const what = pathname.split("/").at(-1);
    if (what === "history") asked += 1;
    const status = known === null ? 503 : known.events.length === 0 && what !== "history" ? 404 : 200;
    response.writeHead(status, { "content-type": "application/json" });
    if (status !== 200 || known === null) return response.end("{}");
    const last = known.events.at(-1);
    if (what === "sequence") return response.end(JSON.stringify({ sequence: last?.sequence }));
    if (what !== "history") return response.end(JSON.stringify({ account: snapshotOf(last, known.balanceMinor) }));
    const since = Number(searchParams.get("since"));
    const events = known.events.filter(({ sequence }) => sequence > since);
    return response.end(JSON.stringify({ events, lastSequence: last?.sequence ?? 0 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return {
    url: `http://127.0.0.1:${address.port}`,
    get asked() {
      return asked;
    },
    answer: (events, balanceMinor) => {
      known = { events, balanceMinor };
    },
    forget: () => {
      known = { events: [], balanceMinor: undefined };
    },
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function snapshotOf(last: TradingEvent | undefined, given: number | undefined): AccountSnapshot {
  if (last === undefined) throw new Error("no event");
  const balanceMinor = given ?? last.balanceMinor;
  return {
    serverId: last.serverId,
    accountNumber: last.accountNumber,
    measuredAt: last.occurredAt,
    balanceMinor,
    equityMinor: balanceMinor,
    marginMinor: 0,
    freeMarginMinor: balanceMinor,
    marginLevel: 0,
    unrealizedProfitMinor: 0,
    openPositionCount: 0,
    accountName: "Test account",
    leverage: 100,
    status: "active",
    currency: "USD",
    sequence: last.sequence,
  };
}
