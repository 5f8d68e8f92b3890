import type { OperationId } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import { createTradingAccount } from "./create-trading-account.ts";
import { depositAccountFunds } from "./deposit-account-funds.ts";
import { getCommand } from "./get-command.ts";
import { getCreditBalance } from "./get-credit-balance.ts";
import { getServerConfiguration } from "./get-server-configuration.ts";
import { getTradingAccount } from "./get-trading-account.ts";
import { listTradingAccounts } from "./list-trading-accounts.ts";
import type { Needs } from "./needs.ts";
import { withdrawAccountFunds } from "./withdraw-account-funds.ts";

/** Every operation of the contract, by its name there; a missing one is a type error. */
export function createOperations(needs: Needs): Readonly<Record<OperationId, Operation>> {
  return {
    getCreditBalance: getCreditBalance(needs),
    getServerConfiguration: getServerConfiguration(needs),
    listTradingAccounts: listTradingAccounts(needs),
    createTradingAccount: createTradingAccount(needs),
    getTradingAccount: getTradingAccount(needs),
    depositAccountFunds: depositAccountFunds(needs),
    withdrawAccountFunds: withdrawAccountFunds(needs),
    getCommand: getCommand(needs),
  };
}
