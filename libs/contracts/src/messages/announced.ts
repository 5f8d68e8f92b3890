/**
 * Which trading events the account and the finance service announce, each in its own topic. An
 * event of one service names the last trading event before it that the other service announces, so
 * both services use these rules.
 */
import type { TradingEvent } from "./trading-event.ts";

/**
 * Whether later finance events wait for the account event of this trading event. False for
 * trading events such as `account.updated`: the account event then comes from the command that
 * changed the account, and no finance event waits for this account event.
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

/** Whether the finance service announces the trading event: one finance event per transaction. */
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
