import type { Clock } from "@kapi/kernel";
import { type Gauge, inBatchSpan, type Logger } from "@kapi/runtime";

import type { DeliveryStore, DueEndpoint, EndpointName } from "../domain/ports.ts";
import type { Deliverer } from "./deliverer.ts";
import type { EndpointCache } from "./endpoint-cache.ts";

/** Maximum number of endpoints per lease statement. */
const LEASE_BATCH_ENDPOINTS = 200;
/** Maximum number of deliveries per lease statement. */
const LEASE_BATCH_DELIVERIES = 1_000;
/** Deliveries cancelled per statement. */
const CANCEL_BATCH = 1_000;
const MS_PER_SECOND = 1_000;

interface DueOptions {
  readonly deliveries: Pick<DeliveryStore, "dueEndpoints" | "lease" | "cancelOpen">;
  readonly deliverer: Pick<Deliverer, "capacity" | "add" | "running" | "endPauseOfFormerUrl">;
  readonly endpointCache: EndpointCache;
  readonly leaseMs: number;
  readonly gauges: { readonly oldest: Gauge; readonly running: Gauge };
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Leases due deliveries for the {@link Deliverer}: retries, redeliveries, replays, deliveries
 * beyond its capacity, and deliveries of killed processes. Most new deliveries skip this: the
 * process that records them also leases them.
 */
export class DueDeliveries {
  readonly #options: DueOptions;
  /** Endpoints with further due deliveries, with their organizations. */
  readonly #more = new Map<string, string>();
  /** Disabled or deleted endpoints, whose open deliveries are to be cancelled. */
  readonly #deactivated = new Set<string>();
  #working: Promise<void> | null = null;
  /** Whether work arrived while working. */
  #again = false;
  #stopping = false;

  constructor(options: DueOptions) {
    this.#options = options;
  }

  /** Leases deliveries of these endpoints as soon as there is capacity. */
  enqueue(endpoints: readonly EndpointName[]): void {
    for (const { endpointId, organizationId } of endpoints) this.#more.set(endpointId, organizationId);
    this.#wake();
  }

  /** Called when an endpoint has capacity again. */
  onCapacity(endpointId: string): void {
    if (this.#more.has(endpointId)) this.#wake();
  }

  /** Cancels the open deliveries of a disabled or deleted endpoint. */
  cancel(endpointId: string): void {
    this.#deactivated.add(endpointId);
    this.#wake();
  }

  /** Finds all endpoints with due deliveries, and leases deliveries within the capacity. */
  async poll(): Promise<void> {
    const { deliveries, clock, gauges, deliverer } = this.#options;
    const nowMs = clock.nowMs();
    const due = await deliveries.dueEndpoints(nowMs);
    gauges.running.record(deliverer.running);
    gauges.oldest.record(ageOf(due, nowMs) / MS_PER_SECOND);
    await Promise.all(due.map(({ endpointId }) => deliverer.endPauseOfFormerUrl(endpointId)));
    this.enqueue(due);
    await this.#working;
  }

  /** Leases no further deliveries; resolves after the current work. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#working;
  }

  #wake(): void {
    this.#again = true;
    if (this.#stopping || this.#working !== null) return;
    this.#again = false;
    // The work is for all endpoints, so it belongs to no caller's trace.
    this.#working = inBatchSpan("", [], () => this.#work())
      .catch((error: unknown) => {
        this.#options.logger.warn({ err: error }, "due deliveries were not leased or cancelled; the next poll retries");
        this.#more.clear();
      })
      .finally(() => {
        this.#working = null;
        if (this.#again) this.#wake();
      });
  }

  async #work(): Promise<void> {
    // Wait one turn of the event loop: one statement then leases for all endpoints that this turn
    // enqueued.
    await new Promise((resolve) => setImmediate(resolve));
    while (!this.#stopping) {
      const wanted = this.#wanted();
      const [deactivated] = this.#deactivated;
      if (wanted.size === 0 && deactivated === undefined) return;
      if (deactivated !== undefined) await this.#cancelSome(deactivated);
      if (wanted.size > 0) await this.#lease(wanted);
    }
  }

  /** The number of deliveries to lease, for each endpoint of `#more` with capacity. */
  #wanted(): Map<string, number> {
    const wanted = new Map<string, number>();
    const capacity = this.#options.deliverer.capacity();
    let left = LEASE_BATCH_DELIVERIES;
    for (const [endpointId, organizationId] of this.#more) {
      let taken = 0;
      while (taken < left && capacity.reserve({ organizationId, endpointId })) taken += 1;
      if (taken === 0) continue;
      wanted.set(endpointId, taken);
      left -= taken;
      if (wanted.size >= LEASE_BATCH_ENDPOINTS || left <= 0) break;
    }
    return wanted;
  }

  async #lease(wanted: Map<string, number>): Promise<void> {
    const { deliveries, deliverer, endpointCache, clock, leaseMs } = this.#options;
    for (const endpointId of wanted.keys()) {
      if ((await endpointCache.get(endpointId))?.endpoint.status === "enabled") continue;
      wanted.delete(endpointId);
      this.#more.delete(endpointId);
      this.#deactivated.add(endpointId);
    }
    if (wanted.size === 0) return;
    const nowMs = clock.nowMs();
    const leased = await deliveries.lease(wanted, nowMs, nowMs + leaseMs);
    const got = Map.groupBy(leased, ({ endpointId }) => endpointId);
    for (const [endpointId, count] of wanted) {
      const organizationId = this.#more.get(endpointId);
      this.#more.delete(endpointId);
      if (organizationId === undefined || (got.get(endpointId)?.length ?? 0) < count) continue;
      // The endpoint may have more due deliveries: it moves behind the endpoints that still wait.
      this.#more.set(endpointId, organizationId);
    }
    deliverer.add(leased);
  }

  async #cancelSome(endpointId: string): Promise<void> {
    const { deliveries, clock } = this.#options;
    const cancelled = await deliveries.cancelOpen(endpointId, CANCEL_BATCH, clock.nowMs());
    if (cancelled < CANCEL_BATCH) this.#deactivated.delete(endpointId);
  }
}

function ageOf(due: readonly DueEndpoint[], nowMs: number): number {
  return due.reduce((oldest, { dueAtMs }) => Math.max(oldest, nowMs - dueAtMs), 0);
}
