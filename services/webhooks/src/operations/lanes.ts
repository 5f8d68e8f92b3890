import { assertDefined, backOffMs, BREAKER_FAILURES } from "@kapi/kernel";

import type { Leased, Room } from "../domain/ports.ts";

/** Deliveries of one endpoint that wait in memory, at most. */
const MAX_WAITING_PER_LANE = 256;
/**
 * Deliveries of all endpoints that wait in memory, at most; beyond that each endpoint still has
 * one.
 */
const MAX_WAITING = 10_000;
/**
 * Endpoints that failed or are slow, and have nothing to send, that are remembered. Of more, the
 * one that was sent nothing for longest is forgotten.
 */
const MAX_LANES = 10_000;
/** Of one organization's endpoints. */
const MAX_WAITING_PER_ORGANIZATION = 1_000;
/** A lane takes up what it will have sent in so long, in milliseconds: well within a lease. */
const HORIZON_MS = 10_000;
/** What an endpoint is thought to take that was never sent anything, in milliseconds. */
const FIRST_GUESS_MS = 250;
/** Weight of the newest attempt in what an endpoint takes. */
const NEWEST_WEIGHT = 0.2;
/**
 * Of all slots, and of those of an organization: the share in which an endpoint may have its second
 * and further ones. Of all slots also the share that failing endpoints may have.
 */
const COMMON_SHARE = 0.5;

/** What waits and what runs for one endpoint. */
interface Lane {
  readonly organizationId: string;
  readonly waiting: Leased[];
  running: number;
  /**
   * Attempts that failed in a row: after the first there is only one at a time, until one succeeds.
   */
  failures: number;
  /** Milliseconds an attempt takes, smoothed. */
  takesMs: number;
  /**
   * Nothing is sent before this, in milliseconds since 1970: the receiver asked for it, or failed
   * in a row.
   */
  quietUntilMs: number;
}

export interface LaneLimits {
  /** Deliveries under way at once, in all. */
  readonly concurrency: number;
  /** To the endpoints of one organization; at least twice as many as it may have endpoints. */
  readonly perOrganization: number;
  /** To one endpoint. */
  readonly perEndpoint: number;
}

/** How an attempt ended. Times in milliseconds, points in time since 1970. */
export interface Ended {
  readonly well: boolean;
  readonly tookMs: number;
  readonly nowMs: number;
  /** Until when the receiver asked not to be sent anything; null where it did not. */
  readonly quietUntilMs: number | null;
}

/**
 * Who is next. One lane for each endpoint, served in turn, so that an endpoint only ever waits for
 * itself: it has its own few slots, one that fails has a single one, with rests, and what waits for
 * it stays in the database beyond what it will soon take. Nor do many that hang at once take all
 * slots: once half of them are in use each further one is an endpoint's first, and those that
 * failed last never have more than half. An organization has its own share of the slots, in which
 * the same holds among its endpoints.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that have something to send, in the order in which their turn comes. */
  readonly #turns = new Set<string>();
  readonly #limits: LaneLimits;
  readonly #random: () => number;
  /**
   * Slots that may be in use before each endpoint has but one more, and those that failing ones
   * have together.
   */
  readonly #common: number;
  /** The same of an organization's slots. */
  readonly #commonOfOrganization: number;
  /** What runs and what waits, by organization. */
  readonly #runningOf = new Counts();
  readonly #waitingOf = new Counts();
  #running = 0;
  /** Of those, the ones of endpoints that failed last. */
  #failing = 0;
  #waiting = 0;

  /** @param random from 0 (inclusive) to 1, for the jitter of rests. */
  constructor(limits: LaneLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
    this.#common = Math.ceil(limits.concurrency * COMMON_SHARE);
    this.#commonOfOrganization = Math.ceil(limits.perOrganization * COMMON_SHARE);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** The room that there is now, for one who then adds what it has taken up. */
  room(nowMs: number): Room {
    let free = MAX_WAITING - this.#waiting;
    const endpoints = new Map<string, number>();
    const organizations = new Map<string, number>();
    return {
      take: ({ organizationId, endpointId }) => {
        const ofEndpoint = endpoints.get(endpointId) ?? this.#roomOf(endpointId, nowMs);
        const used = organizations.get(organizationId) ?? 0;
        const ofOrganization = MAX_WAITING_PER_ORGANIZATION - this.#waitingOf.get(organizationId) - used;
        const isFirst = !endpoints.has(endpointId) && (this.#lanes.get(endpointId)?.waiting.length ?? 0) === 0;
        if (ofEndpoint <= 0 || (Math.min(free, ofOrganization) <= 0 && !isFirst)) return false;
        free -= 1;
        endpoints.set(endpointId, ofEndpoint - 1);
        organizations.set(organizationId, used + 1);
        return true;
      },
    };
  }

  /** False where the endpoint rests since it was taken up: then it is for the database. */
  add(delivery: Leased, nowMs: number): boolean {
    const lane = this.#lane(delivery);
    if (nowMs < lane.quietUntilMs) return false;
    lane.waiting.push(delivery);
    this.#countWaiting(lane, 1);
    this.#queue(delivery.endpointId, lane);
    return true;
  }

  /** The next delivery, which counts as running from now on; undefined where none can. */
  next(): Leased | undefined {
    if (this.#running >= this.#limits.concurrency) return undefined;
    for (const endpointId of this.#turns) {
      const lane = this.#known(endpointId);
      // It keeps its turn.
      if (this.#leavesToOthers(lane)) continue;
      this.#turns.delete(endpointId);
      const delivery = lane.waiting.shift();
      if (delivery === undefined) continue;
      this.#countWaiting(lane, -1);
      this.#count(lane, 1);
      this.#queue(endpointId, lane);
      return delivery;
    }
    return undefined;
  }

  /**
   * A delivery that ran has ended. Returns what waits for an endpoint that is to rest from now on:
   * that is for the database.
   */
  ended(endpointId: string, how: Ended): Leased[] {
    const lane = this.#release(endpointId);
    const wasFailing = lane.failures > 0;
    if (wasFailing !== !how.well) this.#failing += how.well ? -lane.running : lane.running;
    lane.takesMs += NEWEST_WEIGHT * (how.tookMs - lane.takesMs);
    if (how.well) lane.failures = 0;
    // What was under way when the rest began says nothing new.
    else if (how.nowMs >= lane.quietUntilMs) lane.failures += 1;
    lane.quietUntilMs = how.quietUntilMs ?? this.#restUntilMs(lane, how);
    const resting = how.nowMs < lane.quietUntilMs ? lane.waiting.splice(0) : [];
    this.#countWaiting(lane, -resting.length);
    this.#settle(endpointId, lane);
    return resting;
  }

  /** A delivery that was next was not sent after all. */
  skipped(endpointId: string): void {
    this.#settle(endpointId, this.#release(endpointId));
  }

  /** Takes everything that waits. */
  drain(): Leased[] {
    const all = [...this.#lanes.values()].flatMap(({ waiting }) => waiting.splice(0));
    this.#turns.clear();
    this.#waitingOf.clear();
    this.#waiting = 0;
    return all;
  }

  /** How many deliveries of an endpoint may be taken up now, whatever waits for others. */
  #roomOf(endpointId: string, nowMs: number): number {
    const lane = this.#lanes.get(endpointId);
    if (lane === undefined) return capacity(this.#limits.perEndpoint, FIRST_GUESS_MS);
    if (nowMs < lane.quietUntilMs) return 0;
    const slots = this.#slotsOf(lane);
    const wanted = lane.failures > 0 ? slots : capacity(slots, lane.takesMs);
    return Math.max(0, wanted - lane.waiting.length - lane.running);
  }

  /**
   * An endpoint that fails at once would otherwise be tried as often as this process can, to the
   * cost of all others.
   */
  #restUntilMs(lane: Lane, { well, nowMs }: Ended): number {
    if (well) return 0;
    if (nowMs < lane.quietUntilMs || lane.failures < BREAKER_FAILURES) return lane.quietUntilMs;
    return nowMs + backOffMs(lane.failures - BREAKER_FAILURES + 1, this.#random);
  }

  #release(endpointId: string): Lane {
    const lane = this.#known(endpointId);
    this.#count(lane, -1);
    return lane;
  }

  #count(lane: Lane, change: 1 | -1): void {
    lane.running += change;
    this.#running += change;
    this.#runningOf.add(lane.organizationId, change);
    if (lane.failures > 0) this.#failing += change;
  }

  #countWaiting({ organizationId }: Lane, change: number): void {
    this.#waiting += change;
    this.#waitingOf.add(organizationId, change);
  }

  /** Whether what is still free is not for this one. */
  #leavesToOthers(lane: Lane): boolean {
    const ofOrganization = this.#runningOf.get(lane.organizationId);
    if (ofOrganization >= this.#limits.perOrganization) return true;
    if (ofOrganization >= this.#commonOfOrganization && lane.running > 0) return true;
    if (lane.failures > 0) return this.#failing >= this.#common;
    return this.#running >= this.#common && lane.running > 0;
  }

  #settle(endpointId: string, lane: Lane): void {
    this.#queue(endpointId, lane);
    if (lane.running > 0 || lane.waiting.length > 0) return;
    this.#lanes.delete(endpointId);
    const isAsNew = lane.failures === 0 && lane.quietUntilMs === 0 && lane.takesMs <= FIRST_GUESS_MS;
    if (isAsNew) return;
    // At the end, as the one that was sent something last.
    this.#lanes.set(endpointId, lane);
    if (this.#lanes.size > MAX_LANES) this.#forgetOldest();
  }

  /** A deleted endpoint is not reported here, so its lane would stay for ever. */
  #forgetOldest(): void {
    for (const [endpointId, { running, waiting }] of this.#lanes) {
      if (running > 0 || waiting.length > 0) continue;
      this.#lanes.delete(endpointId);
      return;
    }
  }

  #queue(endpointId: string, lane: Lane): void {
    if (lane.waiting.length > 0 && lane.running < this.#slotsOf(lane)) this.#turns.add(endpointId);
  }

  #slotsOf(lane: Lane): number {
    return lane.failures > 0 ? 1 : this.#limits.perEndpoint;
  }

  #lane({ endpointId, organizationId }: Leased): Lane {
    let lane = this.#lanes.get(endpointId);
    if (lane === undefined) {
      const fresh = { running: 0, failures: 0, takesMs: FIRST_GUESS_MS, quietUntilMs: 0 };
      lane = { organizationId, waiting: [], ...fresh };
      this.#lanes.set(endpointId, lane);
    }
    return lane;
  }

  #known(endpointId: string): Lane {
    return assertDefined(this.#lanes.get(endpointId), "the lane of a delivery");
  }
}

/** Numbers by name; only those that are not 0 are kept. */
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

/** How many deliveries so many slots send within the horizon. */
function capacity(slots: number, takesMs: number): number {
  const sent = Math.ceil((slots * HORIZON_MS) / Math.max(1, takesMs));
  return Math.max(slots, Math.min(MAX_WAITING_PER_LANE, sent));
}
