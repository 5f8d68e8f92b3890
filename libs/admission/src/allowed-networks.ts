import type { KeyEntry } from "@kapi/contracts";
import { ApiError, createNetworkSet, type NetworkSet } from "@kapi/http";

/**
 * The parsed `allowedNetworks` of a key, by its `KeyEntry`. A changed key is a new `KeyEntry`, so
 * parsed networks are never outdated.
 */
const networksOf = new WeakMap<object, NetworkSet>();

/**
 * Checks that `key` may be used from `address`; null: unknown. A key without `allowedNetworks` may
 * be used from any address, also an unknown address. With `allowedNetworks` an unknown address is
 * rejected.
 * @throws ApiError the 401 of an unknown key, so that a thief does not learn that the key is valid
 * (decisions, 12).
 */
export function requireAllowedNetwork(key: Pick<KeyEntry, "allowedNetworks">, address: string | null): void {
  const { allowedNetworks } = key;
  if (allowedNetworks === null || allowedNetworks === undefined) return;
  let isAllowed = networksOf.get(key);
  if (isAllowed === undefined) {
    isAllowed = createNetworkSet(allowedNetworks);
    networksOf.set(key, isAllowed);
  }
  if (address === null || !isAllowed(address)) throw new ApiError("AUTHENTICATION_REQUIRED");
}
