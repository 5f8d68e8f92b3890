import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

import { type Actor, actorFromText, actorToText } from "@kapi/contracts";

/** Who asks for a change, and from where: what a service that is asked by another one records. */
export interface Caller {
  readonly actor: Actor;
  /** The network address that the request came from; null where it is not known. */
  readonly address: string | null;
}

/** Internal headers: the actor as `<type>/<id>`, and the caller's network address. */
export const CALLER_HEADERS = { actor: "x-kapi-actor", address: "x-kapi-address" } as const;

/** How a socket for both versions of IP writes an IPv4 address. */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
/** After `%`: the interface that a link-local IPv6 address was met on. Its name has any length. */
const ZONE = /%.*$/s;

/** The headers that tell another service of the caller. */
export function callerHeaders({ actor, address }: Caller): Record<string, string> {
  return {
    [CALLER_HEADERS.actor]: actorToText(actor) ?? "",
    ...(address === null ? {} : { [CALLER_HEADERS.address]: address }),
  };
}

/** The caller of a request between services; null where a process of release 0.1.0 sent it. */
export function callerOf(headers: IncomingHttpHeaders): Caller | null {
  const named = headers[CALLER_HEADERS.actor];
  const actor = typeof named === "string" ? actorFromText(named) : null;
  const address = headers[CALLER_HEADERS.address];
  return actor === null ? null : { actor, address: typeof address === "string" ? addressOf({ ip: address }) : null };
}

/**
 * The network address of a request without a zone, an IPv4 address in its own form; null where it
 * is not known. Fastify has none for a caller who is gone, whatever its types say.
 */
export function addressOf({ ip }: { readonly ip: string | undefined }): string | null {
  const address = (ip ?? "").replace(ZONE, "");
  return isIP(address) === 0 ? null : address.replace(MAPPED_IPV4, "");
}
