import type { Command, Money } from "../generated/api.ts";

/** A queued operation, such as `finance.deposit`. */
export type CommandOperation = Command["operation"];

interface StatusChange {
  readonly status: string;
  /** False if the account already had the status. */
  readonly changed: boolean;
}

interface Booking {
  readonly transactionId: string;
  readonly balanceAfter: Money;
}

/** The results of operations that are not defined by the API's document. */
interface Results {
  readonly "account.create": { readonly accountId: string; readonly accountNumber: string };
  readonly "account.update": { readonly accountName: string; readonly leverage: number; readonly version: number };
  readonly "account.enable": StatusChange;
  readonly "account.disable": StatusChange;
  readonly "account.archive": StatusChange;
  readonly "account.delete": { readonly accountNumber: string; readonly deleted: true };
  readonly "account.password_reset": { readonly changedAt: string };
  readonly "account.investor_password_reset": { readonly changedAt: string };
  readonly "account.history_export": HistoryExport;
  readonly "finance.deposit": Booking;
  readonly "finance.withdraw": Booking;
}

/** What a succeeded command of the operation returns. */
export type ResultOf<Operation extends CommandOperation> = Results[Operation];

export interface HistoryExport {
  readonly from: string | null;
  readonly to: string | null;
  readonly recordCount: number;
  readonly truncated: boolean;
  readonly records: readonly ExportRecord[];
}

export interface ExportRecord {
  readonly kind: "transaction" | "order" | "position" | "deal";
  readonly id: string;
  readonly [field: string]: unknown;
}
