import type { Currency } from "@kapi/contracts";

import type { Account } from "../../domain/account.ts";
import type { StoredStatus } from "../../domain/account-status.ts";

/** A row of `accounts`. */
export interface AccountRow {
  readonly id: string;
  readonly organization_id: string;
  readonly server_id: string;
  readonly account_number: string;
  readonly account_name: string;
  readonly status: StoredStatus;
  readonly status_reason: string | null;
  readonly currency: Currency;
  readonly leverage: number;
  readonly initial_balance_minor: number;
  readonly version: number;
  readonly trading_password_changed_at: Date | null;
  readonly investor_password_changed_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly activated_at: Date | null;
  readonly disabled_at: Date | null;
  readonly archived_at: Date | null;
}

export const ACCOUNT_COLUMNS = `id, organization_id, server_id, account_number, account_name, status, status_reason,
  currency, leverage, initial_balance_minor, version, trading_password_changed_at, investor_password_changed_at,
  created_at, updated_at, activated_at, disabled_at, archived_at`;

/**
 * The end of a statement that locks accounts `a`. Every transaction that waits for the locks of
 * several accounts, including booking, takes them in this order, so that transactions do not
 * deadlock.
 */
export const IN_LOCK_ORDER = "order by a.server_id, a.account_number for no key update of a";

/** Maps a row with all {@link ACCOUNT_COLUMNS}. Money stays in minor units, and times are Dates. */
export function fromRow(row: AccountRow): Account {
  return {
    id: row.id,
    organizationId: row.organization_id,
    serverId: row.server_id,
    accountNumber: row.account_number,
    accountName: row.account_name,
    status: row.status,
    statusReason: row.status_reason,
    currency: row.currency,
    leverage: row.leverage,
    initialBalanceMinor: row.initial_balance_minor,
    version: row.version,
    tradingPasswordChangedAt: row.trading_password_changed_at,
    investorPasswordChangedAt: row.investor_password_changed_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    activatedAt: row.activated_at,
    disabledAt: row.disabled_at,
    archivedAt: row.archived_at,
  };
}

/** {@link ACCOUNT_COLUMNS} qualified with the alias `a`. */
export const ACCOUNT_COLUMNS_OF_A = ACCOUNT_COLUMNS.replaceAll(/\w+/g, "a.$&");
