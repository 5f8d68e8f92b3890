import type { KeyObject } from "node:crypto";

import { batcher, type Clock, type Keyring, openPassword, type SealedPassword } from "@kapi/kernel";
import { LRUCache } from "lru-cache";

import type { Endpoint } from "../domain/endpoint.ts";
import type { EndpointStore } from "../domain/ports.ts";
import { signingKey } from "../domain/signature.ts";

/**
 * Maximum age of a cached endpoint, in milliseconds: a change by another process takes effect
 * within this time.
 */
const MAX_AGE_MS = 1_000;
const MAX_BATCH = 500;
/** Maximum number of cached endpoints; above it the least recently used endpoint is dropped. */
const MAX_KNOWN = 10_000;

/** An endpoint with its decrypted secrets. */
export interface EndpointWithKeys {
  readonly endpoint: Endpoint;
  /** Null if the secret cannot be decrypted: for example, its sealing key is not configured. */
  readonly key: KeyObject | null;
  /** Null also without a previous secret. */
  readonly previousKey: KeyObject | null;
}

/** Caches endpoints for deliveries, for at most a second. */
export class EndpointCache {
  readonly #known = new LRUCache<string, Promise<EndpointWithKeys | null>>({ max: MAX_KNOWN, ttl: MAX_AGE_MS });
  readonly #read: (endpointId: string) => Promise<EndpointWithKeys | null>;
  readonly #clock: Clock;

  constructor({ store, keys, clock }: { store: Pick<EndpointStore, "find">; keys: Keyring; clock: Clock }) {
    this.#clock = clock;
    this.#read = batcher<string, EndpointWithKeys | null>({
      load: async (endpointIds) => {
        const found = new Map(
          (await store.find(endpointIds)).map((endpoint) => [endpoint.id, withKeys(endpoint, keys)]),
        );
        return endpointIds.map((id) => found.get(id) ?? null);
      },
      maxBatchSize: MAX_BATCH,
      maxConcurrentBatches: 2,
    });
  }

  /** Null if the endpoint does not exist. Rejects if the database fails. */
  get(endpointId: string): Promise<EndpointWithKeys | null> {
    const known = this.#known.get(endpointId);
    if (known !== undefined) return known;
    const found = this.#read(endpointId);
    this.#known.set(endpointId, found);
    found.catch(() => this.forget(endpointId));
    return found;
  }

  /** The next `get` reads the endpoint again. */
  forget(endpointId: string): void {
    this.#known.delete(endpointId);
  }

  /** The current signing keys, newest first; empty if the secret cannot be decrypted. */
  signingKeys({ endpoint, key, previousKey }: EndpointWithKeys): KeyObject[] {
    if (key === null) return [];
    const previousSigns = previousKey !== null && this.#clock.nowMs() < (endpoint.previousUntilMs ?? 0);
    return previousSigns ? [key, previousKey] : [key];
  }
}

/** A secret that cannot be decrypted does not affect other endpoints. */
function withKeys(endpoint: Endpoint, keys: Keyring): EndpointWithKeys {
  const { id, secret, previousSecret } = endpoint;
  const open = (sealed: SealedPassword | null): KeyObject | null => {
    if (sealed === null) return null;
    try {
      return signingKey(openPassword(keys, id, sealed));
    } catch {
      return null;
    }
  };
  return { endpoint, key: open(secret), previousKey: open(previousSecret) };
}
