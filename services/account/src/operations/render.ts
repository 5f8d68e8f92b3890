import { type AccountCredentials, CURRENCY_SYMBOLS, type Server, type TradingAccount } from "@kapi/contracts";
import { amountFromMinor, assert } from "@kapi/kernel";

import type { Account, AccountValues, ServerConfiguration } from "../domain/account.ts";

const isoOrNull = (time: Date | null): string | null => (time === null ? null : time.toISOString());

/** The record of an account as the API shows it (decisions, 4.1). */
export function toTradingAccount(account: Account, server: ServerConfiguration, values: AccountValues): TradingAccount {
  assert(account.status !== "deleted", "a deleted account must not be shown");
  return {
    id: account.id,
    organizationId: account.organizationId,
    serverId: account.serverId,
    accountNumber: account.accountNumber,
    accountName: account.accountName,
    status: account.status,
    statusReason: account.statusReason,
    environment: server.environment,
    currency: account.currency,
    currencySymbol: CURRENCY_SYMBOLS[account.currency],
    leverage: account.leverage,
    initialBalance: amountFromMinor(account.initialBalanceMinor),
    ...values,
    version: account.version,
    createdAt: account.createdAt.toISOString(),
    updatedAt: account.updatedAt.toISOString(),
    activatedAt: isoOrNull(account.activatedAt),
    disabledAt: isoOrNull(account.disabledAt),
    archivedAt: isoOrNull(account.archivedAt),
  };
}

/** The access data of an account, without any password (decisions, 4.4). */
export function toCredentials(account: Account, server: ServerConfiguration): AccountCredentials {
  return {
    login: account.accountNumber,
    serverId: account.serverId,
    serverName: server.serverName,
    tradingPasswordSet: account.tradingPasswordChangedAt !== null,
    investorPasswordSet: account.investorPasswordChangedAt !== null,
    tradingPasswordChangedAt: isoOrNull(account.tradingPasswordChangedAt),
    investorPasswordChangedAt: isoOrNull(account.investorPasswordChangedAt),
  };
}

/**
 * The configuration of a server as the API shows it (interface, "Server configuration"). A removed
 * server shows as disabled.
 */
export function toServer(server: ServerConfiguration): Server {
  return {
    serverId: server.serverId,
    serverName: server.serverName,
    companyName: server.companyName,
    currency: server.currency,
    currencySymbol: CURRENCY_SYMBOLS[server.currency],
    environment: server.environment,
    supportedLeverage: [...server.supportedLeverage],
    defaultLeverage: server.defaultLeverage,
    status: server.status === "active" ? "active" : "disabled",
  };
}
