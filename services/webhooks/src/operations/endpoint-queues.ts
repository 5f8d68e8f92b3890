import { assertDefined, backOffMs, BREAKER_FAILURES } from "@kapi/kernel";

import type { LeasedDelivery, Capacity } from "../domain/ports.ts";

/**
 * Maximum number of waiting and running deliveries of one endpoint in memory. An endpoint with more
 * slots than this number may have one delivery in memory for each of its slots.
 */
const MAX_WAITING_PER_ENDPOINT = 256;
/**
 * Maximum number of waiting deliveries in memory. Above it each endpoint may still have one waiting
 * delivery.
 */
const MAX_WAITING = 10_000;
/**
 * Idle queues are remembered if their endpoint failed or is slow. Above this number of queues, idle
 * or not, the least recently used idle queue is dropped.
 */
const MAX_IDLE_QUEUES = 10_000;
/**
 * Maximum number of waiting deliveries of one organization in memory. Above it each endpoint of the
 * organization may still have one waiting delivery.
 */
const MAX_WAITING_PER_ORGANIZATION = 1_000;
/**
 * A queue accepts as many deliveries as it will send within this time, in milliseconds: much
 * shorter than a lease.
 */
const HORIZON_MS = 10_000;
/** Assumed duration of the first attempt at an endpoint, in milliseconds. */
const FIRST_GUESS_MS = 250;
/** Weight of the newest attempt in the average duration. */
const NEWEST_WEIGHT = 0.2;
/** The fraction of slots that is not reserved: see {@link EndpointQueues}. */
const SHARED_FRACTION = 0.5;

/** The waiting and running deliveries of one endpoint. */
interface EndpointQueue {
  readonly organizationId: string;
  readonly waiting: LeasedDelivery[];
  running: number;
  /**
   * Consecutive failures. While there are any, the endpoint has one slot. Attempts that already run
   * continue.
   */
  failures: number;
  /** Smoothed duration of an attempt, in milliseconds. */
  averageDurationMs: number;
  /**
   * Nothing is sent before this time, because the receiver failed repeatedly. A success ends the
   * pause. Times in milliseconds since 1970.
   */
  failedUntilMs: number;
  /** Nothing is sent before this time either: the receiver asked for it by `Retry-After`. */
  requestedUntilMs: number;
  /** The URL of the receiver that asked for it; empty if none has. */
  requestedBy: string;
}

/** The slots of one process. */
export interface DeliveryLimits {
  /** Maximum number of concurrent deliveries. */
  readonly concurrency: number;
  /**
   * Maximum number of concurrent deliveries of one organization; at least twice its maximum number
   * of endpoints.
   */
  readonly perOrganization: number;
  /** Maximum number of concurrent deliveries of one endpoint. */
  readonly perEndpoint: number;
}

/** The result of an attempt. Times in milliseconds, points in time since 1970. */
export interface AttemptResult {
  readonly url: string;
  readonly succeeded: boolean;
  readonly durationMs: number;
  readonly nowMs: number;
  /** End of the pause that the receiver requested by Retry-After; null without a pause. */
  readonly pausedUntilMs: number | null;
}

/**
 * One queue per endpoint, served in turn, so that one endpoint does not delay others. Each endpoint
 * may use a few slots at a time; a failing endpoint may use one slot, with pauses. Deliveries
 * beyond the number that an endpoint will soon send stay in the database.
 *
 * Hanging endpoints cannot keep all slots for long. Once half of all slots are in use, each further
 * slot goes to an endpoint that uses no slot. While failing endpoints use half of all slots, no
 * failing endpoint gets a further slot. Once half of the slots of an organization are in use, each
 * further slot goes to an endpoint of the organization that uses no slot.
 */
export class EndpointQueues {
  readonly #queues = new Map<string, EndpointQueue>();
  /** Endpoints with waiting deliveries and a free slot, in the order of their turns. */
  readonly #turns = new Set<string>();
  readonly #limits: DeliveryLimits;
  readonly #random: () => number;
  /** {@link SHARED_FRACTION} of all slots. */
  readonly #sharedSlots: number;
  /** {@link SHARED_FRACTION} of the slots of one organization. */
  readonly #sharedOfOrganization: number;
  /** Running and waiting deliveries by organization. */
  readonly #runningOf = new Counts();
  readonly #waitingOf = new Counts();
  #running = 0;
  /** Running deliveries of failing endpoints. */
  #failing = 0;
  #waiting = 0;

  /** @param random from 0 (inclusive) to 1, for the jitter of pauses. */
  constructor(limits: DeliveryLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
    this.#sharedSlots = Math.ceil(limits.concurrency * SHARED_FRACTION);
    this.#sharedOfOrganization = Math.ceil(limits.perOrganization * SHARED_FRACTION);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** The current capacity, for a caller that then adds the deliveries that it reserved. */
  capacity(nowMs: number): Capacity {
    let free = MAX_WAITING - this.#waiting;
    const endpoints = new Map<string, number>();
    const organizations = new Map<string, number>();
    return {
      reserve: ({ organizationId, endpointId }) => {
        const ofEndpoint = endpoints.get(endpointId) ?? this.#capacityOf(endpointId, nowMs);
        const used = organizations.get(organizationId) ?? 0;
        const ofOrganization = MAX_WAITING_PER_ORGANIZATION - this.#waitingOf.get(organizationId) - used;
        const isFirst = !endpoints.has(endpointId) && (this.#queues.get(endpointId)?.waiting.length ?? 0) === 0;
        if (ofEndpoint <= 0 || (Math.min(free, ofOrganization) <= 0 && !isFirst)) return false;
        free -= 1;
        endpoints.set(endpointId, ofEndpoint - 1);
        organizations.set(organizationId, used + 1);
        return true;
      },
    };
  }

  /** False if the endpoint is paused: the caller then releases the delivery. */
  add(delivery: LeasedDelivery, nowMs: number): boolean {
    const queue = this.#queueOf(delivery);
    if (nowMs < pauseEndMs(queue)) return false;
    queue.waiting.push(delivery);
    this.#countWaiting(queue, 1);
    this.#schedule(delivery.endpointId, queue);
    return true;
  }

  /** Starts the next delivery: it counts as running. Undefined if no delivery may start. */
  next(): LeasedDelivery | undefined {
    if (this.#running >= this.#limits.concurrency) return undefined;
    for (const endpointId of this.#turns) {
      const queue = this.#known(endpointId);
      // The endpoint keeps its turn.
      if (this.#leavesToOthers(queue)) continue;
      this.#turns.delete(endpointId);
      // It has failed since it got this turn. It gets a turn again when one of its attempts ends.
      if (queue.running >= this.#slotsOf(queue)) continue;
      const delivery = queue.waiting.shift();
      if (delivery === undefined) continue;
      this.#countWaiting(queue, -1);
      this.#count(queue, 1);
      this.#schedule(endpointId, queue);
      return delivery;
    }
    return undefined;
  }

  /**
   * Finishes a running delivery. Returns the waiting deliveries of an endpoint that is now paused:
   * the caller releases them.
   */
  finish(endpointId: string, result: AttemptResult): LeasedDelivery[] {
    const queue = this.#release(endpointId);
    const wasFailing = queue.failures > 0;
    queue.averageDurationMs += NEWEST_WEIGHT * (result.durationMs - queue.averageDurationMs);
    if (result.succeeded) queue.failures = 0;
    // A failure during a pause does not count: its attempt started before the pause.
    else if (result.nowMs >= pauseEndMs(queue)) queue.failures += 1;
    const isFailing = queue.failures > 0;
    if (isFailing !== wasFailing) this.#failing += isFailing ? queue.running : -queue.running;
    if (result.nowMs >= queue.requestedUntilMs) queue.requestedUntilMs = 0;
    if (result.pausedUntilMs === null) queue.failedUntilMs = this.#pauseUntilMs(queue, result);
    else if (result.pausedUntilMs > queue.requestedUntilMs) {
      queue.requestedUntilMs = result.pausedUntilMs;
      queue.requestedBy = result.url;
    }
    const paused = result.nowMs < pauseEndMs(queue) ? queue.waiting.splice(0) : [];
    this.#countWaiting(queue, -paused.length);
    this.#settle(endpointId, queue);
    return paused;
  }

  /** The URL of the receiver that asked for the endpoint's pause; null without such a pause. */
  pausedBy(endpointId: string, nowMs: number): string | null {
    const queue = this.#queues.get(endpointId);
    return queue !== undefined && nowMs < queue.requestedUntilMs ? queue.requestedBy : null;
  }

  /** Ends the endpoint's pause if the receiver at `url` asked for it. */
  endPauseBy(endpointId: string, url: string): void {
    const queue = this.#queues.get(endpointId);
    if (queue?.requestedBy === url) queue.requestedUntilMs = 0;
  }

  /** Ends a started delivery without a result: it was not sent, or its attempt was aborted. */
  skip(endpointId: string): void {
    this.#settle(endpointId, this.#release(endpointId));
  }

  /** Removes and returns all waiting deliveries. */
  drain(): LeasedDelivery[] {
    const all = [...this.#queues.values()].flatMap(({ waiting }) => waiting.splice(0));
    this.#turns.clear();
    this.#waitingOf.clear();
    this.#waiting = 0;
    return all;
  }

  /** The number of further deliveries that an endpoint accepts, regardless of other endpoints. */
  #capacityOf(endpointId: string, nowMs: number): number {
    const queue = this.#queues.get(endpointId);
    if (queue === undefined) return deliveriesWithinHorizon(this.#limits.perEndpoint, FIRST_GUESS_MS);
    if (nowMs < pauseEndMs(queue)) return 0;
    const slots = this.#slotsOf(queue);
    const wanted = queue.failures > 0 ? slots : deliveriesWithinHorizon(slots, queue.averageDurationMs);
    return Math.max(0, wanted - queue.waiting.length - queue.running);
  }

  /**
   * The end of the endpoint's pause after failures; 0 after a success. Without pauses, an endpoint
   * that fails immediately would get all its due deliveries in quick succession.
   */
  #pauseUntilMs(queue: EndpointQueue, { succeeded, nowMs }: AttemptResult): number {
    if (succeeded) return 0;
    if (nowMs < pauseEndMs(queue) || queue.failures < BREAKER_FAILURES) return queue.failedUntilMs;
    return nowMs + backOffMs(queue.failures - BREAKER_FAILURES + 1, this.#random);
  }

  #release(endpointId: string): EndpointQueue {
    const queue = this.#known(endpointId);
    this.#count(queue, -1);
    return queue;
  }

  #count(queue: EndpointQueue, change: 1 | -1): void {
    queue.running += change;
    this.#running += change;
    this.#runningOf.add(queue.organizationId, change);
    if (queue.failures > 0) this.#failing += change;
  }

  #countWaiting({ organizationId }: EndpointQueue, change: number): void {
    this.#waiting += change;
    this.#waitingOf.add(organizationId, change);
  }

  /** Whether the free slots are reserved for other endpoints. */
  #leavesToOthers(queue: EndpointQueue): boolean {
    const ofOrganization = this.#runningOf.get(queue.organizationId);
    if (ofOrganization >= this.#limits.perOrganization) return true;
    if (ofOrganization >= this.#sharedOfOrganization && queue.running > 0) return true;
    if (queue.failures > 0) return this.#failing >= this.#sharedSlots;
    return this.#running >= this.#sharedSlots && queue.running > 0;
  }

  #settle(endpointId: string, queue: EndpointQueue): void {
    this.#schedule(endpointId, queue);
    if (queue.running > 0 || queue.waiting.length > 0) return;
    this.#queues.delete(endpointId);
    const isAsNew = queue.failures === 0 && pauseEndMs(queue) === 0 && queue.averageDurationMs <= FIRST_GUESS_MS;
    if (isAsNew) return;
    // The queue moves to the end: the least recently used queue is dropped first.
    this.#queues.set(endpointId, queue);
    if (this.#queues.size > MAX_IDLE_QUEUES) this.#forgetOldest();
  }

  /** Drops the least recently used idle queue. Its endpoint may have been deleted. */
  #forgetOldest(): void {
    for (const [endpointId, { running, waiting }] of this.#queues) {
      if (running > 0 || waiting.length > 0) continue;
      this.#queues.delete(endpointId);
      return;
    }
  }

  #schedule(endpointId: string, queue: EndpointQueue): void {
    if (queue.waiting.length > 0 && queue.running < this.#slotsOf(queue)) this.#turns.add(endpointId);
  }

  #slotsOf(queue: EndpointQueue): number {
    return queue.failures > 0 ? 1 : this.#limits.perEndpoint;
  }

  #queueOf({ endpointId, organizationId }: LeasedDelivery): EndpointQueue {
    let queue = this.#queues.get(endpointId);
    if (queue === undefined) {
      const fresh = {
        running: 0,
        failures: 0,
        averageDurationMs: FIRST_GUESS_MS,
        failedUntilMs: 0,
        requestedUntilMs: 0,
        requestedBy: "",
      };
      queue = { organizationId, waiting: [], ...fresh };
      this.#queues.set(endpointId, queue);
    }
    return queue;
  }

  #known(endpointId: string): EndpointQueue {
    return assertDefined(this.#queues.get(endpointId), "the queue of a delivery");
  }
}

/** Counts by name; zero counts are removed. */
class Counts {
  readonly #counts = new Map<string, number>();

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, change: number): void {
    const count = this.get(name) + change;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }

  clear(): void {
    this.#counts.clear();
  }
}

/** The end of the longer pause of an endpoint; 0 without a pause. */
function pauseEndMs({ failedUntilMs, requestedUntilMs }: EndpointQueue): number {
  return Math.max(failedUntilMs, requestedUntilMs);
}

/**
 * The number of deliveries that these slots send within {@link HORIZON_MS}: at most {@link
 * MAX_WAITING_PER_ENDPOINT}, but at least one for each slot.
 */
function deliveriesWithinHorizon(slots: number, averageDurationMs: number): number {
  const sent = Math.ceil((slots * HORIZON_MS) / Math.max(1, averageDurationMs));
  return Math.max(slots, Math.min(MAX_WAITING_PER_ENDPOINT, sent));
}
