/**
 * What is asked for cannot be told now, because the ledger has not booked all that the trading
 * server has done.
 */
export class BehindTradingServer extends Error {
  override readonly name = "BehindTradingServer";
}
