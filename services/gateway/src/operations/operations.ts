import type { OperationId } from "@kapi/contracts";

import { archiveAccount } from "./archive-account.ts";
import { bulkCreateTradingAccounts } from "./bulk-create-trading-accounts.ts";
import type { Operation } from "./call.ts";
import { createTradingAccount } from "./create-trading-account.ts";
import { deleteTradingAccountImmediately } from "./delete-trading-account-immediately.ts";
import { depositAccountFunds } from "./deposit-account-funds.ts";
import { disableAccount } from "./disable-account.ts";
import { enableAccount } from "./enable-account.ts";
import { exportAccountHistory } from "./export-account-history.ts";
import { getCommand } from "./get-command.ts";
import { getCreditBalance } from "./get-credit-balance.ts";
import { getCreditPrices } from "./get-credit-prices.ts";
import { getServerConfiguration } from "./get-server-configuration.ts";
import { getTradingAccount } from "./get-trading-account.ts";
import { listAccountDeals } from "./list-account-deals.ts";
import { listAccountMetrics } from "./list-account-metrics.ts";
import { listAccountPositions } from "./list-account-positions.ts";
import { listCommands } from "./list-commands.ts";
import { listCreditUsage } from "./list-credit-usage.ts";
import { listTradingAccountOrders } from "./list-trading-account-orders.ts";
import { listTradingAccountTransactions } from "./list-trading-account-transactions.ts";
import { listTradingAccounts } from "./list-trading-accounts.ts";
import type { Needs } from "./needs.ts";
import { queueAccountDeletion } from "./queue-account-deletion.ts";
import { resetInvestorPassword } from "./reset-investor-password.ts";
import { resetTradingPassword } from "./reset-trading-password.ts";
import { updateServerConfiguration } from "./update-server-configuration.ts";
import { updateTradingAccount } from "./update-trading-account.ts";
import { withdrawAccountFunds } from "./withdraw-account-funds.ts";

/** Every operation of the contract, by its name there; a missing one is a type error. */
export function createOperations(needs: Needs): Readonly<Record<OperationId, Operation>> {
  return {
    getCreditBalance: getCreditBalance(needs),
    getCreditPrices: getCreditPrices(needs),
    listCreditUsage: listCreditUsage(needs),
    getServerConfiguration: getServerConfiguration(needs),
    updateServerConfiguration: updateServerConfiguration(needs),
    listTradingAccounts: listTradingAccounts(needs),
    createTradingAccount: createTradingAccount(needs),
    bulkCreateTradingAccounts: bulkCreateTradingAccounts(needs),
    getTradingAccount: getTradingAccount(needs),
    updateTradingAccount: updateTradingAccount(needs),
    deleteTradingAccountImmediately: deleteTradingAccountImmediately(needs),
    enableAccount: enableAccount(needs),
    disableAccount: disableAccount(needs),
    archiveAccount: archiveAccount(needs),
    queueAccountDeletion: queueAccountDeletion(needs),
    resetTradingPassword: resetTradingPassword(needs),
    resetInvestorPassword: resetInvestorPassword(needs),
    listTradingAccountTransactions: listTradingAccountTransactions(needs),
    listTradingAccountOrders: listTradingAccountOrders(needs),
    listAccountPositions: listAccountPositions(needs),
    listAccountDeals: listAccountDeals(needs),
    exportAccountHistory: exportAccountHistory(needs),
    depositAccountFunds: depositAccountFunds(needs),
    withdrawAccountFunds: withdrawAccountFunds(needs),
    getCommand: getCommand(needs),
    listCommands: listCommands(needs),
    listAccountMetrics: listAccountMetrics(needs),
  };
}
