import type { IncomingHttpHeaders } from "node:http";

import { type Actor, actorFromText, actorToText } from "@kapi/contracts";
import { z } from "zod";

/** Who asks for a change, and from where: what a service that is asked by another one records. */
export interface Caller {
  readonly actor: Actor;
  /** The network address that the request came from; null where it is not known. */
  readonly address: string | null;
}

/** Internal headers: the actor as `<type>/<id>`, and the caller's network address. */
export const CALLER_HEADERS = { actor: "x-kapi-actor", address: "x-kapi-address" } as const;

const Address = z.union([z.ipv4(), z.ipv6()]);

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
  const address = Address.safeParse(headers[CALLER_HEADERS.address]);
  return actor === null ? null : { actor, address: address.success ? address.data : null };
}
