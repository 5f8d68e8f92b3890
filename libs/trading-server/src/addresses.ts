/** Addresses and tokens of trading servers, from the directory. */
import type { ServerEntry } from "@kapi/contracts";
import { type Keyring, openPassword } from "@kapi/kernel";

import { TradingServerUnreachable } from "./unreachable.ts";

/** How to call one trading server. The token is secret: it is not logged. */
export interface TradingServerAddress {
  readonly url: string;
  /** Token of calls to this server. */
  readonly token: string;
}

/** Where the entries of servers come from, and how to get an address and a token from an entry. */
export interface AddressOptions {
  /** The server's entry in the directory; undefined: it has none. */
  readonly server: (serverId: string) => ServerEntry | undefined;
  /** Keys that open the sealed tokens. */
  readonly keys: Keyring;
  /** Token of servers that were registered without a token; undefined: there is none. */
  readonly sharedToken: string | undefined;
  /** Whether http addresses are allowed. */
  readonly allowInsecure: boolean;
}

/**
 * Looks up addresses by server id; undefined: not in the directory. Throws {@link
 * TradingServerUnreachable} for an http address that is not allowed, for a token that cannot be
 * opened, and if there is no token.
 */
export function createAddresses(options: AddressOptions): (serverId: string) => TradingServerAddress | undefined {
  // Cached by entry: every change of a server creates a new entry.
  const known = new WeakMap<ServerEntry, TradingServerAddress>();
  return (serverId) => {
    const entry = options.server(serverId);
    if (entry === undefined) return undefined;
    const remembered = known.get(entry);
    if (remembered !== undefined) return remembered;
    if (!options.allowInsecure && !entry.tradingServerUrl.startsWith("https://"))
      throw new TradingServerUnreachable(`the address of server ${serverId} does not begin with https://`);
    const address = { url: entry.tradingServerUrl, token: tokenOf(entry, options) };
    known.set(entry, address);
    return address;
  };
}

function tokenOf({ serverId, sealedToken }: ServerEntry, { keys, sharedToken }: AddressOptions): string {
  if (sealedToken === undefined) {
    if (sharedToken !== undefined) return sharedToken;
    throw new TradingServerUnreachable(`server ${serverId} was registered without a token, and no shared token is set`);
  }
  try {
    return openPassword(keys, serverId, sealedToken);
  } catch (error) {
    throw new TradingServerUnreachable(`the token of server ${serverId} cannot be opened`, { cause: error });
  }
}
