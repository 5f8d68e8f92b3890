import { randomUUID } from "node:crypto";

import { type LoggedRequest, type LoggedRequests, MAX_REQUESTS_PER_RECORD, TOPICS } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";
import { type Clock, repeat, toIso, uuidV7, uuidV7TimeMs } from "@kapi/kernel";
import { counter, type Logger, type Started } from "@kapi/runtime";

/**
 * Maximum number of successful reads of one organization that one process logs per second. Further
 * reads are only counted.
 */
export const MAX_LOGGED_READS_PER_SECOND = 20;
/**
 * Maximum number of changes and failed requests of one organization that one process logs per
 * second.
 */
export const MAX_LOGGED_CHANGES_PER_SECOND = 100;
/** Maximum number of requests of one process that wait to be published: about 3 MB. */
export const MAX_BUFFERED_REQUESTS = 5_000;
/** Maximum number of organizations whose omitted requests one process counts, per minute. */
const MAX_COUNTED_ORGANIZATIONS = 10_000;
/** Maximum number of minutes whose counts of omitted requests wait while Kafka is unavailable. */
const MAX_COUNTED_MINUTES = 60;
/** Pause between two publications of the buffer. A killed process loses unpublished requests. */
const PUBLISH_INTERVAL_MS = 500;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

const notLogged = counter(
  "admission.requests.not_logged",
  "Requests that are missing in the request log, by `reason` (limit, buffer, not_published)",
  "{request}",
);

/** A request to log, without its id. */
export interface RequestToLog extends Omit<LoggedRequest, "id"> {
  readonly organizationId: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** The log of an organization's API requests, which the console shows (decisions, 24.2). */
export interface RequestLog {
  /** Logs a request, or only counts it above the limits. Never throws, and never waits. */
  add(request: RequestToLog): void;
}

/** Numbers of successful reads, and of changes and failed requests. */
interface Counts {
  reads: number;
  others: number;
}

/** Requests and key uses of one organization that wait to be published. */
interface Waiting {
  readonly requests: LoggedRequest[];
  readonly keyUses: Map<string, LoggedRequests["keyUses"][number]>;
}

/**
 * What the log of one process uses. `clock` says which second a request counts for, and which
 * minutes are over.
 */
export interface RequestLogDependencies {
  /** Not the producer of commands: records of the log must not delay commands. */
  readonly producer: Pick<Producer, "send">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Starts the request log of a process: a bounded buffer that is published to `api.requests` twice a
 * second (decisions, 24.2). A request that cannot be published is counted and not sent again, so
 * that the log never slows down or fails a request. `stop` publishes the buffer.
 */
export function startRequestLog(dependencies: RequestLogDependencies): Started<RequestLog> {
  const log = new BufferedRequestLog(dependencies);
  const publishing = repeat({
    name: "request log",
    round: () => log.publish(),
    pauseMs: PUBLISH_INTERVAL_MS,
    firstPauseMs: PUBLISH_INTERVAL_MS,
    logger: dependencies.logger,
  });
  return {
    value: log,
    stop: async () => {
      await publishing.stop();
      await log.publish({ withCurrentMinute: true });
    },
  };
}

/** The buffer of {@link startRequestLog}. */
export class BufferedRequestLog implements RequestLog {
  readonly #dependencies: RequestLogDependencies;
  #second = 0;
  /** Numbers of requests of the current second, by organization. */
  readonly #counted = new Map<string, Counts>();
  #waiting = new Map<string, Waiting>();
  #buffered = 0;
  /** Numbers of omitted requests, by minute and organization. */
  readonly #omitted = new Map<number, Map<string, Counts>>();

  constructor(dependencies: RequestLogDependencies) {
    this.#dependencies = dependencies;
  }

  add(request: RequestToLog): void {
    const { organizationId, atMs, ...fields } = request;
    const waiting = this.#waitingOf(organizationId);
    const { actor, address } = fields;
    if (actor.type === "key") waiting?.keyUses.set(actor.id, { keyId: actor.id, at: toIso(atMs), address });
    if (!this.#isWithinRate(organizationId, fields)) this.#omit(organizationId, atMs, fields, "limit");
    else if (waiting === undefined || this.#buffered >= MAX_BUFFERED_REQUESTS) {
      this.#omit(organizationId, atMs, fields, "buffer");
    } else {
      this.#buffered += 1;
      waiting.requests.push({ id: uuidV7(atMs), ...fields });
    }
  }

  /** Publishes the buffer, and the numbers of omitted requests of past minutes. Never rejects. */
  async publish({ withCurrentMinute = false } = {}): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    this.#buffered = 0;
    const omitted = this.#takeOmitted(withCurrentMinute);
    for (const organizationId of omitted.keys()) {
      if (!waiting.has(organizationId)) waiting.set(organizationId, { requests: [], keyUses: new Map() });
    }
    const records = Array.from(waiting, ([organizationId, { requests, keyUses }]) =>
      recordsOf(organizationId, requests, {
        omitted: omitted.get(organizationId) ?? [],
        keyUses: [...keyUses.values()],
      }),
    );
    await Promise.all(records.flat().map((record) => this.#send(record)));
  }

  /** Undefined for a further organization if {@link MAX_BUFFERED_REQUESTS} organizations wait. */
  #waitingOf(organizationId: string): Waiting | undefined {
    const known = this.#waiting.get(organizationId);
    if (known !== undefined || this.#waiting.size >= MAX_BUFFERED_REQUESTS) return known;
    const waiting: Waiting = { requests: [], keyUses: new Map() };
    this.#waiting.set(organizationId, waiting);
    return waiting;
  }

  #isWithinRate(organizationId: string, request: Pick<LoggedRequest, "method" | "status">): boolean {
    const second = Math.floor(this.#dependencies.clock.nowMs() / SECOND_MS);
    if (second !== this.#second) {
      this.#second = second;
      this.#counted.clear();
    }
    const counts = count(this.#counted, organizationId, request);
    return isSuccessfulRead(request)
      ? counts.reads <= MAX_LOGGED_READS_PER_SECOND
      : counts.others <= MAX_LOGGED_CHANGES_PER_SECOND;
  }

  #omit(
    organizationId: string,
    atMs: number,
    request: Pick<LoggedRequest, "method" | "status">,
    reason: "limit" | "buffer" | "not_published",
  ): void {
    notLogged.add(1, { reason });
    const ofMinute = this.#omittedIn(atMs - (atMs % MINUTE_MS));
    if (ofMinute.has(organizationId) || ofMinute.size < MAX_COUNTED_ORGANIZATIONS) {
      count(ofMinute, organizationId, request);
    }
  }

  #omittedIn(minuteMs: number): Map<string, Counts> {
    const known = this.#omitted.get(minuteMs);
    if (known !== undefined) return known;
    const [oldest] = this.#omitted.keys();
    if (oldest !== undefined && this.#omitted.size >= MAX_COUNTED_MINUTES) this.#omitted.delete(oldest);
    const ofMinute = new Map<string, Counts>();
    this.#omitted.set(minuteMs, ofMinute);
    return ofMinute;
  }

  /** Each minute is reported after its end, so that few records have counts. */
  #takeOmitted(withCurrentMinute: boolean): ReadonlyMap<string, LoggedRequests["omitted"]> {
    const nowMs = this.#dependencies.clock.nowMs();
    const taken = new Map<string, LoggedRequests["omitted"]>();
    for (const [minuteMs, ofMinute] of this.#omitted) {
      if (minuteMs + MINUTE_MS > nowMs && !withCurrentMinute) continue;
      this.#omitted.delete(minuteMs);
      for (const [organizationId, counts] of ofMinute) {
        taken.set(organizationId, [...(taken.get(organizationId) ?? []), { minute: toIso(minuteMs), ...counts }]);
      }
    }
    return taken;
  }

  async #send(record: LoggedRequests): Promise<void> {
    const { organizationId } = record;
    try {
      await this.#dependencies.producer.send(TOPICS.apiRequests, {
        key: organizationId,
        value: JSON.stringify(record),
      });
    } catch (error) {
      this.#dependencies.logger.debug({ err: error, organizationId }, "requests could not be logged");
      this.#countLost(record);
    }
  }

  #countLost({ organizationId, requests, omitted }: LoggedRequests): void {
    for (const request of requests) this.#omit(organizationId, uuidV7TimeMs(request.id), request, "not_published");
    for (const { minute, reads, others } of omitted) {
      const ofMinute = this.#omittedIn(Date.parse(minute));
      const counts = ofMinute.get(organizationId) ?? { reads: 0, others: 0 };
      ofMinute.set(organizationId, { reads: counts.reads + reads, others: counts.others + others });
    }
  }
}

function isSuccessfulRead({ method, status }: Pick<LoggedRequest, "method" | "status">): boolean {
  return method === "GET" && status !== null && status >= 200 && status < 300;
}

/** Counts a request of an organization; returns the new counts. */
function count(
  counts: Map<string, Counts>,
  organizationId: string,
  request: Pick<LoggedRequest, "method" | "status">,
): Counts {
  const known = counts.get(organizationId) ?? { reads: 0, others: 0 };
  if (isSuccessfulRead(request)) known.reads += 1;
  else known.others += 1;
  counts.set(organizationId, known);
  return known;
}

/** At least one record. The first one has the counts and the key uses. */
function recordsOf(
  organizationId: string,
  requests: readonly LoggedRequest[],
  once: Pick<LoggedRequests, "omitted" | "keyUses">,
): LoggedRequests[] {
  const records: LoggedRequests[] = [];
  for (let from = 0; from === 0 || from < requests.length; from += MAX_REQUESTS_PER_RECORD) {
    const part = requests.slice(from, from + MAX_REQUESTS_PER_RECORD);
    const first = from === 0 ? once : { omitted: [], keyUses: [] };
    records.push({ recordId: randomUUID(), organizationId, requests: part, ...first });
  }
  return records;
}
