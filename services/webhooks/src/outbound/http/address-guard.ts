import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";

import { delay } from "@kapi/kernel";

import type { AddressGuard } from "../../domain/ports.ts";
import { DnsUnavailableError, type Resolve } from "./dns-resolver.ts";
import { type AddressRules, hostOf, isPublicAddress, rejectionOf } from "./public-address.ts";

/**
 * How long a save waits for name resolution, in milliseconds. The gateway waits 2.5 s for the
 * response to a save.
 */
const SAVE_TIMEOUT_MS = 2_000;

/**
 * Checks a URL when it is saved: first its text, then, unless `allowInsecure` is set, the addresses
 * of its host.
 */
export function createAddressGuard(rules: AddressRules, resolve: Resolve): AddressGuard {
  return {
    rejection: async (text) => {
      const rejection = rejectionOf(text, rules);
      if (rejection !== null || rules.allowInsecure) return rejection;
      try {
        const host = hostOf(new URL(text));
        await Promise.race([resolvePublic(host, resolve), rejectAfterTimeout(host)]);
        return null;
      } catch (error) {
        return textOf(error);
      }
    },
  };
}

/**
 * The look-up of every connection. Unless `allowInsecure` is set, one private address of a name
 * rejects the connection. The connection uses exactly the checked addresses, so a change of the
 * name's addresses after the check has no effect.
 */
export function connectionLookup({ allowInsecure }: AddressRules, resolve: Resolve): LookupFunction {
  const addressesOf = callbackify((name: string) => (allowInsecure ? resolve(name) : resolvePublic(name, resolve)));
  return (name, options, callback) => {
    addressesOf(name, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null) callback(error, "");
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}

/**
 * The addresses of a public host. A name without addresses and a name with a private address give
 * the same error, which hides the existence of internal names.
 */
async function resolvePublic(host: string, resolve: Resolve): Promise<readonly LookupAddress[]> {
  const addresses = await resolve(host).catch((error: unknown) => {
    if (error instanceof DnsUnavailableError) throw error;
    return [];
  });
  if (addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))) return addresses;
  throw new Error(`${host} does not resolve to public addresses`);
}

/** Rejects after the save timeout. The look-up continues for its other callers. */
async function rejectAfterTimeout(host: string): Promise<never> {
  await delay(SAVE_TIMEOUT_MS);
  throw new DnsUnavailableError(host);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
