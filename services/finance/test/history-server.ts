import { createServer } from "node:http";

import type { TradingEvent } from "@kapi/contracts";

/**
 * A trading server of which only the history is asked, for gaps that a real one closes too fast to be looked at: it
 * answers 503 until it is told the events.
 */
export interface HistoryServer {
  readonly url: string;
  /** How often the history was asked for. */
  readonly asked: number;
  answer(events: readonly TradingEvent[]): void;
  stop(): Promise<void>;
}

/** Starts it on a free port. */
export async function startHistoryServer(): Promise<HistoryServer> {
  let asked = 0;
  let known: readonly TradingEvent[] | null = null;
  const server = createServer((request, response) => {
    asked += 1;
    const since = Number(new URL(request.url ?? "", "http://localhost").searchParams.get("since"));
    response.writeHead(known === null ? 503 : 200, { "content-type": "application/json" });
    const events = known?.filter(({ sequence }) => sequence > since) ?? [];
    response.end(JSON.stringify({ events, lastSequence: known?.at(-1)?.sequence ?? 0 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return {
    url: `http://127.0.0.1:${address.port}`,
    get asked() {
      return asked;
    },
    answer: (events) => {
      known = events;
    },
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
