import { promises as dns, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";

import type { AddressGuard } from "../../domain/ports.ts";
import { type AddressRules, hostOf, isPublicAddress, refusalOf } from "./public-address.ts";

/** A name's addresses have to be known within this time, in milliseconds, when an endpoint is saved. */
const RESOLVE_TIMEOUT_MS = 5_000;

/** All addresses of a name; rejects where there is none. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/** As this machine resolves names. */
export const systemResolve: Resolve = (name) => dns.lookup(name, { all: true, verbatim: true });

/** An address that must not be connected to. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

/** Judges an address when it is saved: by its spelling, then by what its name resolves to now. */
export function createAddressGuard(rules: AddressRules, resolve: Resolve): AddressGuard {
  return {
    refusal: async (text) => {
      const refusal = refusalOf(text, rules);
      if (refusal !== null || rules.allowInsecure) return refusal;
      try {
        await resolvePublic(hostOf(new URL(text)), resolve, AbortSignal.timeout(RESOLVE_TIMEOUT_MS));
        return null;
      } catch (error) {
        return error instanceof AddressRefused ? error.message : "its name cannot be resolved";
      }
    },
  };
}

/**
 * The lookup of every connection: one private address among those of a name, and there is none. What it hands out is what
 * is connected to, so a name cannot change in between.
 */
export function guardedLookup(resolve: Resolve): LookupFunction {
  const addressesOf = callbackify((name: string) => resolvePublic(name, resolve, null));
  return (name, options, callback) => {
    addressesOf(name, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null) callback(error, "");
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}

async function resolvePublic(
  host: string,
  resolve: Resolve,
  signal: AbortSignal | null,
): Promise<readonly LookupAddress[]> {
  const addresses = await withSignal(resolve(host), signal);
  const refused = addresses.find(({ address }) => !isPublicAddress(address));
  if (refused !== undefined) {
    throw new AddressRefused(`${host} resolves to ${refused.address}, which is not a public address`);
  }
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  return addresses;
}

function withSignal<T>(promise: Promise<T>, signal: AbortSignal | null): Promise<T> {
  if (signal === null) return promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new Error("not resolved in time"));
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}
