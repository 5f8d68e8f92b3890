/** The money movements of a trading event. */
import type { TradingEvent, TransactionType } from "@kapi/contracts";

/** A movement on an account, before it is numbered. */
export interface Posting {
  readonly type: TransactionType;
  /** Signed, minor units; never 0. */
  readonly amountMinor: number;
  readonly description: string | null;
  readonly orderId: string | null;
  readonly positionId: string | null;
  readonly dealId: string | null;
}

const NO_LINKS = { description: null, orderId: null, positionId: null, dealId: null };

/** The postings of an event in booking order; empty if it moves no money. */
export function postingsOf(event: TradingEvent): Posting[] {
  return candidates(event).filter(({ amountMinor }) => amountMinor !== 0);
}

function candidates(event: TradingEvent): Posting[] {
  switch (event.type) {
    case "account.created":
      return [{ ...NO_LINKS, type: "initial_balance", amountMinor: event.initialBalanceMinor }];
    case "balance.changed":
      return [{ ...NO_LINKS, type: event.kind, amountMinor: event.amountMinor, description: event.description }];
    case "deal.executed": {
      const { id: dealId, orderId, positionId, realizedPnlMinor, commissionMinor, swapMinor } = event.deal;
      const links = { description: null, orderId, positionId, dealId };
      return [
        { ...links, type: "realized_pnl", amountMinor: realizedPnlMinor },
        { ...links, type: "commission", amountMinor: commissionMinor },
        { ...links, type: "swap", amountMinor: swapMinor },
      ];
    }
    default:
      return [];
  }
}
