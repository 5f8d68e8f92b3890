/**
 * Which events of a trading server become facts, and whose. A fact of one service names the last
 * event before it that the other one announces, so both must agree on this.
 */
import type { TradingEvent } from "./trading-event.ts";

/**
 * Whether the account service makes a fact of the event. Its facts of other events on an account,
 * such as a new leverage, follow from commands; nobody waits for those.
 */
export function isAnnouncedByAccount({ type }: TradingEvent): boolean {
  switch (type) {
    case "account.created":
    case "order.executed":
    case "order.cancelled":
    case "position.opened":
    case "position.updated":
    case "position.closed":
    case "deal.executed":
    case "margin.call":
    case "margin.stop_out":
      return true;
    default:
      return false;
  }
}

/** Whether the finance service makes facts of the event: one for each row of the ledger. */
export function isAnnouncedByFinance(event: TradingEvent): boolean {
  switch (event.type) {
    case "account.created":
      return event.initialBalanceMinor !== 0;
    case "balance.changed":
      return event.amountMinor !== 0;
    case "deal.executed": {
      const { realizedPnlMinor, commissionMinor, swapMinor } = event.deal;
      return realizedPnlMinor !== 0 || commissionMinor !== 0 || swapMinor !== 0;
    }
    default:
      return false;
  }
}
