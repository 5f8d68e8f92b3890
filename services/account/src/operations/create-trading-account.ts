/**
 * Carries out accepted creations: takes them up (number, row `pending`), opens the accounts on the
 * trading server by reference, and says how each ends. Running one again gives the same account and
 * the same outcome.
 */
import type { Actor, CommandErrorCode } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";

import type { Account, AccountCreation } from "../domain/account.ts";
import type { AccountOpener, AccountOpening, AccountReader, CreationBook, OpeningOutcome } from "../domain/ports.ts";

/** A creation with the passwords that its account gets. */
export interface RequestedCreation {
  readonly creation: AccountCreation;
  readonly tradingPassword: string;
  readonly investorPassword: string;
  /** Who asked for it, where that is known. */
  readonly createdBy?: Actor | undefined;
  /** The span that the account is created in, if it belongs to a trace. */
  readonly traceparent?: string | undefined;
}

/** How a creation stands after it was run once. */
export type CreationOutcome =
  | OpeningOutcome
  | { readonly kind: "refuse"; readonly errorCode: CommandErrorCode; readonly reason: string }
  | { readonly kind: "retry"; readonly reason: string };

export interface CreationRun {
  readonly outcome: CreationOutcome;
  /** Null where the creation was not taken up. */
  readonly account: Account | null;
}

export interface CreateTradingAccountPorts {
  readonly reader: AccountReader;
  readonly book: CreationBook;
  readonly opener: AccountOpener;
}

/**
 * Runs creations of one server; one answer each, in order. Rejects where the trading server gives
 * no clear answer.
 */
export async function createTradingAccounts(
  ports: CreateTradingAccountPorts,
  serverId: string,
  requested: readonly RequestedCreation[],
): Promise<CreationRun[]> {
  const server = await ports.reader.server(serverId);
  if (server === null) return requested.map(() => notTaken({ kind: "retry", reason: "the server is not known yet" }));
  if (server.status !== "active") {
    const refusal = { kind: "refuse", errorCode: "SERVER_DISABLED", reason: "The server is disabled" } as const;
    return requested.map(() => notTaken(refusal));
  }
  const accounts = await ports.book.takeUp(requested.map(({ creation }) => creation));
  const openings = accounts.flatMap((account, index) =>
    isGone(account) ? [] : [toOpening(account, requested[index])],
  );
  const outcomes = openings.length === 0 ? [] : await ports.opener.open(serverId, openings);
  let sent = 0;
  return accounts.map((account) => {
    if (isGone(account)) return { account, outcome: GONE };
    const outcome = outcomes[sent];
    sent += 1;
    return { account, outcome: assertDefined(outcome, "an outcome for each opening") };
  });
}

const GONE: CreationOutcome = { kind: "refuse", errorCode: "ACCOUNT_NOT_FOUND", reason: "The account was deleted" };

/** Whether it was deleted before its creation ended: nothing may open it any more. */
function isGone({ status }: Account): boolean {
  return status === "deleting" || status === "deleted";
}

function notTaken(outcome: CreationOutcome): CreationRun {
  return { outcome, account: null };
}

function toOpening(account: Account, requested: RequestedCreation | undefined): AccountOpening {
  if (requested === undefined) throw new Error("an account for each creation");
  return {
    commandId: requested.creation.commandId,
    accountNumber: account.accountNumber,
    accountName: account.accountName,
    leverage: account.leverage,
    currency: account.currency,
    initialBalanceMinor: account.initialBalanceMinor,
    tradingPassword: requested.tradingPassword,
    investorPassword: requested.investorPassword,
    createdBy: requested.createdBy,
    traceparent: requested.traceparent,
  };
}
