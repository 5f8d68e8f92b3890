/**
 * Which trading events the account and the finance service announce, each in its own topic. An
 * event of one service names the last trading event before it that the other service announces, so
 * both services use these rules.
 */
import type { TradingEvent } from "./trading-event.ts";

/**
 * Whether the account service publishes an account event for the trading event, for which finance
 * events may have to wait. False for the trading events of commands, such as a new leverage: their
 * account events are published too, but no other event waits for them.
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

/** Whether the finance service announces the trading event: one finance event per ledger row. */
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
