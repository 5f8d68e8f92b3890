/**
 * The trading server could not be reached, or gave no clear answer: whether a change applied is
 * unknown.
 */
export class TradingServerUnreachable extends Error {
  override readonly name = "TradingServerUnreachable";
}
