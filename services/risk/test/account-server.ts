import { createServer, type IncomingMessage } from "node:http";
import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";

import type { AccountStatus, OpenPosition, Quote, RiskTemplateSelection, Valuation } from "@kapi/contracts";

/** An account of the stand-in. */
export interface StandInAccount {
  readonly accountNumber: string;
  readonly accountName: string;
  readonly status: AccountStatus;
}

/** A stand-in for the account service. */
export interface AccountServer {
  readonly url: string;
  /** By number. If the map is empty, every account exists and is active, but none is selected. */
  readonly accounts: Map<string, StandInAccount>;
  /** While true, every request is answered 500. */
  isUnavailable: boolean;
  stop(): Promise<void>;
}

export interface AccountServerOptions {
  readonly initialBalanceMinor: number;
  /** The current values of an account. */
  readonly valuationOf: (serverId: string, accountNumber: string) => Valuation;
  readonly organizationId?: string;
  /** Returns the open positions at the time `at`, the same for every account. Default: none. */
  readonly positions?: (at: string) => Promise<readonly OpenPosition[]>;
  readonly quotes?: readonly Quote[];
}

interface SelectedBody {
  readonly selection: RiskTemplateSelection;
  readonly after: string;
  readonly limit: number;
}

/** Starts the server on a free port. It accepts every caller. */
export async function startAccountServer(options: AccountServerOptions): Promise<AccountServer> {
  const accounts = new Map<string, StandInAccount>();
  const started: Pick<AccountServer, "isUnavailable"> = { isUnavailable: false };
  const server = createServer((request, response) => {
    void answerTo(request, options, accounts).then((answer) => {
      const status = started.isUnavailable ? 500 : answer === null ? 404 : 200;
      const code = status === 404 ? { "x-error-code": "ACCOUNT_NOT_FOUND" } : {};
      response.writeHead(status, { "content-type": "application/json", ...code });
      response.end(JSON.stringify(status === 200 ? answer : { error: "none" }));
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

/** Null: the account does not exist. */
async function answerTo(
  request: IncomingMessage,
  options: AccountServerOptions,
  accounts: ReadonlyMap<string, StandInAccount>,
): Promise<object | null> {
  const { initialBalanceMinor, valuationOf, organizationId = randomUUID() } = options;
  const { pathname: path, searchParams } = new URL(request.url ?? "", "http://account");
  const [, , , serverId = "", , accountNumber = "", what] = path.split("/");
  if (path.endsWith("/quotes")) return { quotes: options.quotes ?? null };
  if (accountNumber === "selected") {
    const { selection, after, limit } = JSON.parse(await text(request)) as SelectedBody;
    const found = selected(accounts, selection);
    if (what === "count") return { accounts: found.length };
    return { accountNumbers: found.filter((number) => number > after).slice(0, limit) };
  }
  const any: StandInAccount = { accountNumber, accountName: "Any", status: "active" };
  const account = accounts.size === 0 ? any : accounts.get(accountNumber);
  if (account === undefined) return null;
  const values = valuationOf(serverId, accountNumber);
  if (what === "open-positions") {
    const positions = (await options.positions?.(searchParams.get("at") ?? "")) ?? [];
    return { currency: "USD", positionCount: positions.length, positions, createdAt: values.measuredAt };
  }
  const { accountName, status } = account;
  const fields = { accountId: randomUUID(), organizationId, accountName, status, currency: "USD" };
  return { ...fields, initialBalanceMinor, valuation: values };
}

/** The numbers of the accounts that `selection` selects, in order. */
function selected(
  accounts: ReadonlyMap<string, StandInAccount>,
  { status, nameStartsWith = "" }: RiskTemplateSelection,
): string[] {
  const statuses: readonly AccountStatus[] | undefined = status;
  return [...accounts.values()]
    .filter((one) => one.accountName.startsWith(nameStartsWith) && (statuses?.includes(one.status) ?? true))
    .map(({ accountNumber }) => accountNumber)
    .toSorted();
}
