/**
 * The ledger has not booked all events of the trading server, so a fresh read is not possible now.
 */
export class BehindTradingServer extends Error {
  override readonly name = "BehindTradingServer";
}
