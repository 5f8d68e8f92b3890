import { createServer } from "node:http";
import { randomUUID } from "node:crypto";

import type { Valuation } from "@kapi/contracts";
import { valuation } from "@kapi/testkit";

/** A stand-in for the account service: every account is active and has its first values. */
export interface AccountServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the server on a free port. It accepts every caller. */
export async function startAccountServer(initialBalanceMinor: number, measuredAt: string): Promise<AccountServer> {
  const server = createServer((request, response) => {
    const [, , , serverId = "", , accountNumber = ""] = (request.url ?? "").split("/");
    const values: Valuation = {
      ...valuation({ serverId, accountNumber, measuredAt, balanceMinor: initialBalanceMinor }),
      netDepositsMinor: 0,
    };
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
