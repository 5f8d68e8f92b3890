/** Where trading servers are, and the token of each, as the directory has them. */
import type { ServerEntry } from "@kapi/contracts";
import { type Keyring, openPassword } from "@kapi/kernel";

import { TradingServerUnreachable } from "./unreachable.ts";

/** How a trading server is reached. */
export interface TradingServerAddress {
  readonly url: string;
  /** What calls to it carry. */
  readonly token: string;
}

export interface AddressOptions {
  /** The directory's entry of a server. */
  readonly server: (serverId: string) => ServerEntry | undefined;
  /** Open the tokens of servers. */
  readonly keys: Keyring;
  /** Of servers that were registered without a token; none where it is undefined. */
  readonly sharedToken: string | undefined;
  /** Whether servers may be reached by http: on one machine alone. */
  readonly allowInsecure: boolean;
}

/**
 * The address of each trading server by its id; undefined for one that is not in the directory. It
 * throws {@link TradingServerUnreachable} for one that must not be called: by http, or without a
 * token that can be opened.
 */
export function createAddresses(options: AddressOptions): (serverId: string) => TradingServerAddress | undefined {
  // A changed server has another entry.
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
    throw new TradingServerUnreachable(`server ${serverId} was registered without a token`);
  }
  try {
    return openPassword(keys, serverId, sealedToken);
  } catch (error) {
    throw new TradingServerUnreachable(`the token of server ${serverId} cannot be opened`, { cause: error });
  }
}
