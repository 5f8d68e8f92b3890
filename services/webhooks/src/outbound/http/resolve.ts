import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";

import { delay } from "@kapi/kernel";

import type { AddressGuard } from "../../domain/ports.ts";
import { NotResolvedNow, type Resolve } from "./names.ts";
import { type AddressRules, hostOf, isPublicAddress, refusalOf } from "./public-address.ts";

/**
 * How long a save waits for a name, in milliseconds: the gateway waits 2.5 s for the answer to a
 * save.
 */
const SAVE_TIMEOUT_MS = 2_000;

/** Checks an address when it is saved: by its spelling, then by what its name resolves to now. */
export function createAddressGuard(rules: AddressRules, resolve: Resolve): AddressGuard {
  return {
    refusal: async (text) => {
      const refusal = refusalOf(text, rules);
      if (refusal !== null || rules.allowInsecure) return refusal;
      try {
        const host = hostOf(new URL(text));
        await Promise.race([resolvePublic(host, resolve), givesUp(host)]);
        return null;
      } catch (error) {
        return textOf(error);
      }
    },
  };
}

/**
 * The lookup of every connection: one private address among those of a name refuses the connection,
 * unless `allowInsecure`. What it hands out is what is connected to, so a name cannot change in
 * between.
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
 * The addresses of a public host. A name without an address and one with a private address get the
 * same error: which internal names exist, and where, is not for whoever saves an endpoint.
 */
async function resolvePublic(host: string, resolve: Resolve): Promise<readonly LookupAddress[]> {
  const addresses = await resolve(host).catch((error: unknown) => {
    if (error instanceof NotResolvedNow) throw error;
    return [];
  });
  if (addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))) return addresses;
  throw new Error(`${host} does not resolve to public addresses`);
}

/** Rejects when a save has waited long enough; the look-up goes on for whoever shares it. */
async function givesUp(host: string): Promise<never> {
  await delay(SAVE_TIMEOUT_MS);
  throw new NotResolvedNow(host);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
