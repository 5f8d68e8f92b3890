import type { IncomingMessage } from "node:http";

import { addressOf } from "./caller.ts";
import { createNetworkSet } from "./network-set.ts";

const FORWARDED_FOR = "x-forwarded-for";

/**
 * Returns a function that finds the network address of a caller, for requests that Fastify does not
 * handle, such as WebSocket upgrades. It is the address of the socket. If that is one of
 * `trustedProxies` (addresses or networks), it is the last address of X-Forwarded-For that is no
 * trusted proxy; the first address if all are trusted. Null: unknown.
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
