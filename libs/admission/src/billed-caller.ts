import type { KeyEntry, LoggedRequest } from "@kapi/contracts";

/** Who makes a billed request: a management key, or a person of the console. */
export interface BilledCaller {
  readonly actor: LoggedRequest["actor"];
  readonly organizationId: string;
  /** Null: no limit. */
  readonly rateLimit: KeyEntry["rateLimit"];
}

/** A management key as a caller. */
export function keyCaller({ keyId, organizationId, rateLimit }: KeyEntry): BilledCaller {
  return { actor: { type: "key", id: keyId }, organizationId, rateLimit };
}

/**
 * The name of a caller in Redis: the id of a key, `user/<id>` for a person. Ids of keys have no
 * slash, so a person never shares the rate limit of a key.
 */
export function callerName({ type, id }: BilledCaller["actor"]): string {
  return type === "key" ? id : `${type}/${id}`;
}
