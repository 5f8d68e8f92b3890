import type { OperationId } from "@kapi/contracts";

import { archiveAccount } from "./archive-account.ts";
import { bulkCreateTradingAccounts } from "./bulk-create-trading-accounts.ts";
import type { Operation } from "./call.ts";
import { createTradingAccount } from "./create-trading-account.ts";
import { createWebhook } from "./create-webhook.ts";
import { deleteTradingAccountImmediately } from "./delete-trading-account-immediately.ts";
import { deleteWebhook } from "./delete-webhook.ts";
import { depositAccountFunds } from "./deposit-account-funds.ts";
import { disableAccount } from "./disable-account.ts";
import { enableAccount } from "./enable-account.ts";
import { exportAccountHistory } from "./export-account-history.ts";
import { getCommand } from "./get-command.ts";
import { getCreditBalance } from "./get-credit-balance.ts";
import { getCreditPrices } from "./get-credit-prices.ts";
import { getServerConfiguration } from "./get-server-configuration.ts";
import { getTradingAccount } from "./get-trading-account.ts";
import { getWebhook } from "./get-webhook.ts";
import { listAccountDeals } from "./list-account-deals.ts";
import { listAccountMetrics } from "./list-account-metrics.ts";
import { listAccountPositions } from "./list-account-positions.ts";
import { listCommands } from "./list-commands.ts";
import { listCreditUsage } from "./list-credit-usage.ts";
import { listEvents } from "./list-events.ts";
import { listTradingAccountOrders } from "./list-trading-account-orders.ts";
import { listTradingAccountTransactions } from "./list-trading-account-transactions.ts";
import { listTradingAccounts } from "./list-trading-accounts.ts";
import { listWebhookDeliveries } from "./list-webhook-deliveries.ts";
import { listWebhooks } from "./list-webhooks.ts";
import type { Needs } from "./needs.ts";
import { queueAccountDeletion } from "./queue-account-deletion.ts";
import { redeliverWebhook } from "./redeliver-webhook.ts";
import { replayWebhook } from "./replay-webhook.ts";
import { resetInvestorPassword } from "./reset-investor-password.ts";
import { resetTradingPassword } from "./reset-trading-password.ts";
import { rotateWebhookSecret } from "./rotate-webhook-secret.ts";
import { testWebhook } from "./test-webhook.ts";
import { updateServerConfiguration } from "./update-server-configuration.ts";
import { updateTradingAccount } from "./update-trading-account.ts";
import { updateWebhook } from "./update-webhook.ts";
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
    createWebhook: createWebhook(needs),
    listWebhooks: listWebhooks(needs),
    getWebhook: getWebhook(needs),
    updateWebhook: updateWebhook(needs),
    deleteWebhook: deleteWebhook(needs),
    rotateWebhookSecret: rotateWebhookSecret(needs),
    testWebhook: testWebhook(needs),
    replayWebhook: replayWebhook(needs),
    listWebhookDeliveries: listWebhookDeliveries(needs),
    redeliverWebhook: redeliverWebhook(needs),
    listEvents: listEvents(needs),
  };
}
