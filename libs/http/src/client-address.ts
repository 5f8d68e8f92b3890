import type { IncomingMessage } from "node:http";

import { addressOf } from "./caller.ts";
import { createNetworkSet } from "./network-set.ts";

const FORWARDED_FOR = "x-forwarded-for";

/**
 * Returns a function that finds the network address of a caller, for requests that Fastify does not
 * handle, such as WebSocket upgrades. Without a trusted proxy, that is the address of the socket.
 * If the socket belongs to one of `trustedProxies` (addresses or networks), the result is the last
 * address of X-Forwarded-For that is no trusted proxy, or the first if all are trusted. Without
 * that header, the result is the address of the socket. The result is null if the address is
 * malformed.
 */
export function createClientAddress(
  trustedProxies: readonly string[],
): (request: Pick<IncomingMessage, "headers" | "socket">) => string | null {
  const isTrusted = createNetworkSet(trustedProxies);
  return ({ headers, socket }) => {
    let address = addressOf({ ip: socket.remoteAddress ?? "" });
    const forwarded = [headers[FORWARDED_FOR] ?? []].flat().join(",").split(",");
    for (const hop of forwarded.toReversed()) {
      if (address === null || hop.trim() === "" || !isTrusted(address)) break;
      address = addressOf({ ip: hop.trim() });
    }
    return address;
  };
}
