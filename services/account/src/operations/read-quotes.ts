import type { Quote } from "@kapi/contracts";

import type { AccountReader, Quotes } from "../domain/ports.ts";

/**
 * For each symbol the last quote of the trading server at or before `at`; a symbol without one is
 * left out. `quotes` is null if the trading server gives no quotes at all. Null if there is no such
 * server.
 * @throws what the trading server's client throws while the quotes are unavailable.
 */
export async function readQuotes(
  { reader, quotes }: { readonly reader: Pick<AccountReader, "server">; readonly quotes: Quotes },
  serverId: string,
  { symbols, at }: { readonly symbols: readonly string[]; readonly at: string },
): Promise<{ readonly quotes: readonly Quote[] | null } | null> {
  if ((await reader.server(serverId)) === null) return null;
  return { quotes: await quotes.at(serverId, symbols, at) };
}
