import { createServer } from "node:http";
import { randomUUID } from "node:crypto";

import type { OpenPosition, Quote, Valuation } from "@kapi/contracts";

/** A stand-in for the account service: every account is active. */
export interface AccountServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface AccountServerOptions {
  readonly initialBalanceMinor: number;
  /** The current values of an account. */
  readonly valuationOf: (serverId: string, accountNumber: string) => Valuation;
  readonly organizationId?: string;
  /** The open positions of every account, at any time; awaited before the answer. */
  readonly positions?: () => Promise<readonly OpenPosition[]>;
  readonly quotes?: readonly Quote[];
}

/** Starts the server on a free port. It accepts every caller. */
export async function startAccountServer(options: AccountServerOptions): Promise<AccountServer> {
  const server = createServer((request, response) => {
    void answerTo(request.url ?? "", options).then((answer) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function answerTo(url: string, options: AccountServerOptions): Promise<object> {
  const { initialBalanceMinor, valuationOf, organizationId = randomUUID() } = options;
  const [path = ""] = url.split("?");
  const [, , , serverId = "", , accountNumber = ""] = path.split("/");
  if (path.endsWith("/quotes")) return { quotes: options.quotes ?? null };
  const valuation = valuationOf(serverId, accountNumber);
  if (path.endsWith("/open-positions")) {
    const positions = (await options.positions?.()) ?? [];
    return { currency: "USD", positionCount: positions.length, positions, createdAt: valuation.measuredAt };
  }
  return { accountId: randomUUID(), organizationId, currency: "USD", initialBalanceMinor, valuation };
}
