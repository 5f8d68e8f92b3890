/**
 * The ledger may lack events of the trading server, so a fresh read is not possible now.
 */
export class BehindTradingServer extends Error {
  override readonly name = "BehindTradingServer";
}
