import { createServer } from "node:http";
import { randomUUID } from "node:crypto";

import type { AccountStatus, RiskTemplateSelection, Valuation } from "@kapi/contracts";
import { valuation } from "@kapi/testkit";

/** An account of the stand-in. */
export interface StandInAccount {
  readonly accountNumber: string;
  readonly accountName: string;
  readonly status: AccountStatus;
}

/** A stand-in for the account service: every account is open and has its first values. */
export interface AccountServer {
  readonly url: string;
  /** By number. While it is empty, every account exists and is active. */
  readonly accounts: Map<string, StandInAccount>;
  /** While true, no request is answered with values. */
  isUnavailable: boolean;
  stop(): Promise<void>;
}

interface SelectedBody {
  readonly selection: RiskTemplateSelection;
  readonly after: string;
  readonly limit: number;
}

/** Starts the server on a free port. It accepts every caller. */
export async function startAccountServer(initialBalanceMinor: number, measuredAt: string): Promise<AccountServer> {
  const accounts = new Map<string, StandInAccount>();
  const selected = ({ status, nameStartsWith = "" }: RiskTemplateSelection): string[] =>
    [...accounts.values()]
      .filter(
        (one) =>
          one.accountName.startsWith(nameStartsWith) &&
          ((status as string[] | undefined) ?? [one.status]).includes(one.status),
      )
      .map(({ accountNumber }) => accountNumber)
      .toSorted();
  const answerOf = (url: string, body: string): object | null => {
    const [, , , serverId = "", , accountNumber = "", what] = url.split("/");
    if (accountNumber === "selected") {
      const { selection, after, limit } = JSON.parse(body) as SelectedBody;
      const found = selected(selection);
      if (what === "count") return { accounts: found.length };
      return { accountNumbers: found.filter((number) => number > after).slice(0, limit) };
    }
    const any: StandInAccount = { accountNumber, accountName: "Any", status: "active" };
    const account = accounts.size === 0 ? any : accounts.get(accountNumber);
    if (account === undefined) return null;
    const { accountName, status } = account;
    const values: Valuation = {
      ...valuation({ serverId, accountNumber, measuredAt, balanceMinor: initialBalanceMinor }),
      netDepositsMinor: 0,
    };
    return { accountId: randomUUID(), accountName, status, initialBalanceMinor, valuation: values };
  };
  const started: Pick<AccountServer, "isUnavailable"> = { isUnavailable: false };
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (part: string) => (body += part));
    request.on("end", () => {
      const answer = started.isUnavailable ? null : answerOf(request.url ?? "", body);
      const status = started.isUnavailable ? 500 : answer === null ? 404 : 200;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(answer ?? { error: "none" }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return Object.assign(started, {
    url: `http://127.0.0.1:${address.port}`,
    accounts,
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  });
}
