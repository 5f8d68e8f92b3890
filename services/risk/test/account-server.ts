import { createServer } from "node:http";
import { randomUUID } from "node:crypto";

import type { Valuation } from "@kapi/contracts";

/** A stand-in for the account service: every account is active. */
export interface AccountServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface AccountServerOptions {
  readonly initialBalanceMinor: number;
  /** The current values of an account. */
  readonly valuationOf: (serverId: string, accountNumber: string) => Valuation;
}

/** Starts the server on a free port. It accepts every caller. */
export async function startAccountServer(options: AccountServerOptions): Promise<AccountServer> {
  const { initialBalanceMinor, valuationOf } = options;
  const server = createServer((request, response) => {
    const [, , , serverId = "", , accountNumber = ""] = (request.url ?? "").split("/");
    const values = valuationOf(serverId, accountNumber);
    const account = { accountId: randomUUID(), status: "active", initialBalanceMinor, valuation: values };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(account));
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
