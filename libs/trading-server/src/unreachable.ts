/**
 * The trading server could not be reached, or gave no clear answer: whether a change applied is
 * unknown.
 */
export class TradingServerUnreachable extends Error {
  override readonly name = "TradingServerUnreachable";
}

/**
 * A change or a settlement was not sent, because too many calls of its organization wait for the
 * same address. It says nothing about the trading server, and nothing about earlier calls with the
 * same references.
 */
export class TradingServerCallNotSent extends Error {
  override readonly name = "TradingServerCallNotSent";
}
