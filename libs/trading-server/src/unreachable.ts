/**
 * The trading server could not be reached, gave no clear answer, or was not called, for example
 * because its address is unknown. If a change was sent, the server may have applied it.
 */
export class TradingServerUnreachable extends Error {
  override readonly name = "TradingServerUnreachable";
}

/**
 * A change or a settlement was not sent, because too many calls of its organization wait for the
 * same address. This error says nothing about the trading server, and nothing about earlier calls
 * with the same references.
 */
export class TradingServerCallNotSent extends Error {
  override readonly name = "TradingServerCallNotSent";
}
