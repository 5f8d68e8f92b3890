/**
 * Carries out accepted creations: inserts the accounts as `pending` with a number, and opens them
 * on the trading server by reference. A repeated creation gives the same account and outcome.
 */
import type { Actor, CommandErrorCode } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";

import type { Account, AccountCreation } from "../domain/account.ts";
import type {
  AccountOpener,
  AccountOpening,
  AccountReader,
  CreationRepository,
  OpeningOutcome,
} from "../domain/ports.ts";

/** A creation with the account's passwords. */
export interface RequestedCreation {
  readonly creation: AccountCreation;
  readonly tradingPassword: string;
  readonly investorPassword: string;
  /** The caller, if known. */
  readonly createdBy?: Actor | undefined;
  /** The span of the creation, if its trace is sampled. */
  readonly traceparent?: string | undefined;
}

/** The result of one attempt at a creation. */
export type CreationOutcome =
  /** The outcome on the trading server; `refused`: the trading server rejected the creation. */
  | OpeningOutcome
  /** This service rejected the creation in this attempt, and sent nothing. */
  | { readonly kind: "refuse"; readonly errorCode: CommandErrorCode; readonly reason: string }
  | { readonly kind: "retry"; readonly reason: string };

/** The result of one creation. An account that the trading server rejected keeps its number. */
export interface CreationRun {
  readonly outcome: CreationOutcome;
  /** Null if no account was inserted. */
  readonly account: Account | null;
}

interface CreateTradingAccountPorts {
  readonly reader: AccountReader;
  readonly repository: CreationRepository;
  readonly opener: AccountOpener;
}

/**
 * Runs creations of one server; returns one result for each, in order. The promise rejects if the
 * trading server gives no clear answer.
 */
export async function createTradingAccounts(
  ports: CreateTradingAccountPorts,
  serverId: string,
  requested: readonly RequestedCreation[],
): Promise<CreationRun[]> {
  const server = await ports.reader.server(serverId);
  if (server === null)
    return requested.map(() => withoutAccount({ kind: "retry", reason: "the server is not known yet" }));
  if (server.status !== "active") {
    const rejection = { kind: "refuse", errorCode: "SERVER_DISABLED", reason: "The server is disabled" } as const;
    return requested.map(() => withoutAccount(rejection));
  }
  const accounts = await ports.repository.findOrCreate(requested.map(({ creation }) => creation));
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

/** Whether the account was deleted before its creation completed: it must not be opened. */
function isGone({ status }: Account): boolean {
  return status === "deleting" || status === "deleted";
}

function withoutAccount(outcome: CreationOutcome): CreationRun {
  return { outcome, account: null };
}

function toOpening(account: Account, requested: RequestedCreation | undefined): AccountOpening {
  if (requested === undefined) throw new Error(`account ${account.accountNumber} has no requested creation`);
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
