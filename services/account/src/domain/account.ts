import type { Currency, ServerEntry } from "@kapi/contracts";

import type { StoredStatus } from "./account-status.ts";

/** A server's configuration; the API shows it as `server`. */
export interface ServerConfiguration {
  readonly serverId: string;
  readonly organizationId: string;
  readonly status: ServerEntry["status"];
  readonly serverName: string;
  readonly companyName: string;
  readonly currency: Currency;
  readonly environment: "demo" | "real";
  readonly supportedLeverage: readonly number[];
  readonly defaultLeverage: number | null;
}

/** A trading account. Times are null until they happen. */
export interface Account {
  readonly id: string;
  readonly organizationId: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly accountName: string;
  readonly status: StoredStatus;
  readonly statusReason: string | null;
  readonly currency: Currency;
  readonly leverage: number;
  readonly initialBalanceMinor: number;
  readonly version: number;
  readonly tradingPasswordChangedAt: Date | null;
  readonly investorPasswordChangedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly activatedAt: Date | null;
  readonly disabledAt: Date | null;
  readonly archivedAt: Date | null;
}

/**
 * The live values of an account. Money in units of currency; `marginLevel` is null if no margin is
 * used.
 */
export interface AccountValues {
  readonly balance: number;
  readonly equity: number;
  readonly usedMargin: number;
  readonly freeMargin: number;
  readonly marginLevel: number | null;
  readonly unrealizedProfit: number;
  readonly openPositionCount: number;
  /** Sequence of the account's last live sample; 0 without one, or if metrics did not answer. */
  readonly metricsSequence: number;
  readonly metricsMeasuredAt: string | null;
}

/** A validated creation command. */
export interface AccountCreation {
  readonly commandId: string;
  readonly managedAccountId: string;
  readonly organizationId: string;
  readonly serverId: string;
  readonly accountName: string;
  readonly leverage: number;
  readonly initialBalanceMinor: number;
  readonly createdAt: string;
}
