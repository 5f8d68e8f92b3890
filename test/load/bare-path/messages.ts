/** Messages between the processes of the bare path, about as large as kapi's messages. */

/** A record of `commands.finance`. */
export interface BareCommand {
  readonly id: string;
  readonly organizationId: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly operation: "finance.deposit";
  readonly status: "queued";
  readonly requestId: string;
  readonly idempotencyKey: string;
  readonly fingerprint: string;
  readonly payload: { readonly amountMinor: number; readonly currency: string; readonly description: string | null };
  readonly createdAt: string;
  readonly deadlineAt: string;
}

/** A record of `trading.events` and `finance.events`, also in the trading server's answer. */
export interface BareBalanceEvent {
  readonly id: string;
  readonly type: "balance";
  readonly serverId: string;
  readonly accountNumber: string;
  readonly sequence: number;
  readonly reference: string;
  readonly amountMinor: number;
  readonly balanceBeforeMinor: number;
  readonly balanceAfterMinor: number;
  readonly at: string;
}

/** A record of `command.events`. */
export interface BareFinalEvent {
  readonly commandId: string;
  readonly version: number;
  readonly status: "succeeded";
  readonly attempts: number;
  readonly organizationId: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly operation: "finance.deposit";
  readonly at: string;
  readonly result: { readonly transactionId: string; readonly amountMinor: number; readonly balanceAfterMinor: number };
  readonly error: null;
  readonly credits: { readonly chargeId: string; readonly action: "consume"; readonly credits: number };
}

/** A change that `finance` sends to the trading server. */
export interface BareChange {
  readonly accountNumber: string;
  readonly amountMinor: number;
  readonly reference: string;
}
