import type { KeyObject } from "node:crypto";

import { batcher, type Clock, type Keyring, openPassword, type SealedPassword } from "@kapi/kernel";
import { LRUCache } from "lru-cache";

import type { Endpoint } from "../domain/endpoint.ts";
import type { EndpointStore } from "../domain/ports.ts";
import { signingKey } from "../domain/signature.ts";

/**
 * How long what was read of an endpoint holds, in milliseconds: a change in another process is
 * heeded after that.
 */
const MAX_AGE_MS = 1_000;
const MAX_BATCH = 500;
/** Endpoints in memory; above it the one asked for longest ago is forgotten. */
const MAX_KNOWN = 10_000;

/** An endpoint with its secrets opened. */
export interface OpenEndpoint {
  readonly endpoint: Endpoint;
  /** Null where the key that it was sealed with is not known here. */
  readonly key: KeyObject | null;
  readonly previousKey: KeyObject | null;
}

/** Endpoints as deliveries need them, a second old at most. */
export class EndpointBook {
  readonly #known = new LRUCache<string, Promise<OpenEndpoint | null>>({ max: MAX_KNOWN, ttl: MAX_AGE_MS });
  readonly #read: (endpointId: string) => Promise<OpenEndpoint | null>;
  readonly #clock: Clock;

  constructor({ store, keys, clock }: { store: Pick<EndpointStore, "find">; keys: Keyring; clock: Clock }) {
    this.#clock = clock;
    this.#read = batcher<string, OpenEndpoint | null>({
      load: async (endpointIds) => {
        const found = new Map((await store.find(endpointIds)).map((endpoint) => [endpoint.id, opened(endpoint, keys)]));
        return endpointIds.map((id) => found.get(id) ?? null);
      },
      maxBatchSize: MAX_BATCH,
      maxConcurrentBatches: 2,
    });
  }

  /** Null where there is none (any more). Rejects where the database cannot be asked. */
  get(endpointId: string): Promise<OpenEndpoint | null> {
    const known = this.#known.get(endpointId);
    if (known !== undefined) return known;
    const found = this.#read(endpointId);
    this.#known.set(endpointId, found);
    found.catch(() => this.forget(endpointId));
    return found;
  }

  /** The next one who asks reads it anew. */
  forget(endpointId: string): void {
    this.#known.delete(endpointId);
  }

  /** The keys that sign now, the newest first; none where the secret cannot be opened. */
  keysOf({ endpoint, key, previousKey }: OpenEndpoint): KeyObject[] {
    if (key === null) return [];
    const signsAlong = previousKey !== null && this.#clock.nowMs() < (endpoint.previousUntilMs ?? 0);
    return signsAlong ? [key, previousKey] : [key];
  }
}

/** One that cannot be opened keeps none of the others from being sent to. */
function opened(endpoint: Endpoint, keys: Keyring): OpenEndpoint {
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
