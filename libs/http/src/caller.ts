import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

import { type Actor, actorFromText, actorToText } from "@kapi/contracts";

/** Who requests a change, and from where: what the called service records. */
export interface Caller {
  readonly actor: Actor;
  /** The network address that the request came from; null if unknown. */
  readonly address: string | null;
}

/** Internal headers: the actor as `<type>/<id>`, and the caller's network address. */
export const CALLER_HEADERS = { actor: "x-kapi-actor", address: "x-kapi-address" } as const;

/** The prefix of an IPv4 address on a socket for both versions of IP. */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
/**
 * After `%`: the network interface of a link-local IPv6 address. It is removed, because its name
 * may have any length, and `CallerAddress` in contracts has a limit.
 */
const ZONE = /%.*$/s;

/** The headers that name the caller to another service. */
export function callerHeaders({ actor, address }: Caller): Record<string, string> {
  return {
    [CALLER_HEADERS.actor]: actorToText(actor) ?? "",
    ...(address === null ? {} : { [CALLER_HEADERS.address]: address }),
  };
}

/**
 * The caller of a request between services. Null if the headers name no valid actor, as in requests
 * of release 0.1.0.
 */
export function callerOf(headers: IncomingHttpHeaders): Caller | null {
  const named = headers[CALLER_HEADERS.actor];
  const actor = typeof named === "string" ? actorFromText(named) : null;
  const address = headers[CALLER_HEADERS.address];
  return actor === null ? null : { actor, address: typeof address === "string" ? addressOf({ ip: address }) : null };
}

/**
 * The network address of a request, without zone and without the prefix of a mapped IPv4 address;
 * null if unknown. `ip` is undefined if the caller has disconnected, although Fastify's types
 * exclude it.
 */
export function addressOf({ ip }: { readonly ip: string | undefined }): string | null {
  const address = (ip ?? "").replace(ZONE, "");
  return isIP(address) === 0 ? null : address.replace(MAPPED_IPV4, "");
}
