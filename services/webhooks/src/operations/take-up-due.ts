import type { Clock } from "@kapi/kernel";
import { type Gauge, inBatchSpan, type Logger } from "@kapi/runtime";

import type { DeliveryStore, DueEndpoint, EndpointName } from "../domain/ports.ts";
import type { Deliverer } from "./deliver.ts";
import type { EndpointBook } from "./endpoint-book.ts";

/** Endpoints of one leasing. */
const MAX_ENDPOINTS_TOGETHER = 200;
/** Deliveries of one leasing. */
const MAX_LEASED_TOGETHER = 1_000;
/** Deliveries that one step of cancelling takes. */
const CANCELLED_TOGETHER = 1_000;
const MS_PER_SECOND = 1_000;

export interface DueOptions {
  readonly deliveries: Pick<DeliveryStore, "dueEndpoints" | "lease" | "cancelOpen">;
  readonly deliverer: Pick<Deliverer, "room" | "add" | "running">;
  readonly book: EndpointBook;
  readonly leaseMs: number;
  readonly gauges: { readonly oldest: Gauge; readonly running: Gauge };
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Brings what is due to the {@link Deliverer}: retries, what there was no room for, what a killed
 * process had. New deliveries mostly never come here: whoever records them has them from their
 * beginning.
 */
export class DueDeliveries {
  readonly #options: DueOptions;
  /** Endpoints that have more than this process has taken up, with their organizations. */
  readonly #more = new Map<string, string>();
  /** Endpoints whose open deliveries are to be cancelled. */
  readonly #ended = new Set<string>();
  #working: Promise<void> | null = null;
  /** Something came while it was working. */
  #again = false;
  #stopping = false;

  constructor(options: DueOptions) {
    this.#options = options;
  }

  /** These endpoints have something due; taken up as soon as there is room. */
  expect(endpoints: readonly EndpointName[]): void {
    for (const { endpointId, organizationId } of endpoints) this.#more.set(endpointId, organizationId);
    this.#wake();
  }

  /** An endpoint has room again. */
  onRoom(endpointId: string): void {
    if (this.#more.has(endpointId)) this.#wake();
  }

  /** Nothing is to be sent to this endpoint any more. */
  cancel(endpointId: string): void {
    this.#ended.add(endpointId);
    this.#wake();
  }

  /** Looks in the database for endpoints with something due. */
  async look(): Promise<void> {
    const { deliveries, clock, gauges, deliverer } = this.#options;
    const nowMs = clock.nowMs();
    const due = await deliveries.dueEndpoints(nowMs);
    gauges.running.record(deliverer.running);
    gauges.oldest.record(ageOf(due, nowMs) / MS_PER_SECOND);
    this.expect(due);
    await this.#working;
  }

  /** From now on nothing is taken up; resolves when nothing is being taken up any more. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#working;
  }

  #wake(): void {
    this.#again = true;
    if (this.#stopping || this.#working !== null) return;
    this.#again = false;
    // For all endpoints: it belongs to no trace, whoever woke it.
    this.#working = inBatchSpan("", [], () => this.#work())
      .catch((error: unknown) => {
        this.#options.logger.warn({ err: error }, "due deliveries were not taken up; the next look does it");
        this.#more.clear();
      })
      .finally(() => {
        this.#working = null;
        if (this.#again) this.#wake();
      });
  }

  async #work(): Promise<void> {
    // What came in this turn of the event loop is taken up together.
    await new Promise((resolve) => setImmediate(resolve));
    while (!this.#stopping) {
      const wanted = this.#wanted();
      const [ended] = this.#ended;
      if (wanted.size === 0 && ended === undefined) return;
      if (ended !== undefined) await this.#cancelSome(ended);
      if (wanted.size > 0) await this.#lease(wanted);
    }
  }

  /** Of the endpoints that have more, those with room, and how much. */
  #wanted(): Map<string, number> {
    const wanted = new Map<string, number>();
    const room = this.#options.deliverer.room();
    let left = MAX_LEASED_TOGETHER;
    for (const [endpointId, organizationId] of this.#more) {
      let taken = 0;
      while (taken < left && room.take({ organizationId, endpointId })) taken += 1;
      if (taken === 0) continue;
      wanted.set(endpointId, taken);
      left -= taken;
      if (wanted.size >= MAX_ENDPOINTS_TOGETHER || left <= 0) break;
    }
    return wanted;
  }

  async #lease(wanted: Map<string, number>): Promise<void> {
    const { deliveries, deliverer, book, clock, leaseMs } = this.#options;
    for (const endpointId of wanted.keys()) {
      if ((await book.get(endpointId))?.endpoint.status === "enabled") continue;
      wanted.delete(endpointId);
      this.#more.delete(endpointId);
      this.#ended.add(endpointId);
    }
    if (wanted.size === 0) return;
    const nowMs = clock.nowMs();
    const leased = await deliveries.lease(wanted, nowMs, nowMs + leaseMs);
    const got = Map.groupBy(leased, ({ endpointId }) => endpointId);
    for (const [endpointId, room] of wanted) {
      const organizationId = this.#more.get(endpointId);
      this.#more.delete(endpointId);
      if (organizationId === undefined || (got.get(endpointId)?.length ?? 0) < room) continue;
      // In the order of turns: who was served stands behind the others.
      this.#more.set(endpointId, organizationId);
    }
    deliverer.add(leased);
  }

  async #cancelSome(endpointId: string): Promise<void> {
    const { deliveries, clock } = this.#options;
    const cancelled = await deliveries.cancelOpen(endpointId, CANCELLED_TOGETHER, clock.nowMs());
    if (cancelled < CANCELLED_TOGETHER) this.#ended.delete(endpointId);
  }
}

function ageOf(due: readonly DueEndpoint[], nowMs: number): number {
  return due.reduce((oldest, { dueAtMs }) => Math.max(oldest, nowMs - dueAtMs), 0);
}
