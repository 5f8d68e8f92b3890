/** The request log: the rule that decides which requests are stored, and the port of the store. */
import {
  type ConsoleRequest,
  type ConsoleRequestsAnswer,
  type KeyUse,
  type ListRequestsQuery,
  type LoggedRequest,
  type LoggedRequests,
  type OmittedRequests,
  REQUEST_LOG_DAYS,
} from "@kapi/contracts";
import { toIso, uuidV7TimeMs } from "@kapi/kernel";

const DAY_MS = 86_400_000;
/** Number of future days whose partitions are created in advance. */
const DAYS_AHEAD = 2;
/**
 * Successful reads of a day are stored until the stored requests reach this part of the day's
 * limit. The rest of the limit is for changes and failed requests.
 */
const SHARE_OF_READS = 0.8;

/** A request to store. */
export interface StoredRequest {
  readonly organizationId: string;
  /** The day (UTC) of the request, as YYYY-MM-DD. */
  readonly day: string;
  readonly at: string;
  readonly request: LoggedRequest;
}

/** The number of requests of one minute that are only counted. */
export interface StoredOmission extends OmittedRequests {
  readonly organizationId: string;
  readonly day: string;
  readonly recordId: string;
}

/** The rows to store for some records of `api.requests`. */
export interface RequestRows {
  readonly requests: readonly StoredRequest[];
  readonly omitted: readonly StoredOmission[];
  readonly keyUses: readonly (KeyUse & { readonly organizationId: string })[];
}

/** An organization and a day, as the key of a map. */
export function dayKey(organizationId: string, day: string): string {
  return `${organizationId} ${day}`;
}

/** The day (UTC) of a time, as YYYY-MM-DD. */
export function dayOf(ms: number): string {
  return toIso(ms).slice(0, "2026-01-01".length);
}

/** The days whose requests are stored: today, the six days before and the two days after. */
export function keptDays(nowMs: number): readonly string[] {
  const count = REQUEST_LOG_DAYS + DAYS_AHEAD;
  return Array.from({ length: count }, (_, index) => dayOf(nowMs + (index + 1 - REQUEST_LOG_DAYS) * DAY_MS));
}

/**
 * Rows of `records`. Requests of other days than `days` are left out. At most `maxPerDay` requests
 * of an organization and day are stored; successful reads only until the stored requests reach
 * {@link SHARE_OF_READS} of `maxPerDay`. Further requests are only counted. `stored` has the number
 * of requests that are stored already, by {@link dayKey}.
 */
export function rowsToStore(
  records: readonly LoggedRequests[],
  options: {
    readonly days: readonly string[];
    readonly stored: ReadonlyMap<string, number>;
    readonly maxPerDay: number;
  },
): RequestRows {
  const { days, maxPerDay } = options;
  const counts = new Map(options.stored);
  const requests: StoredRequest[] = [];
  const omitted: StoredOmission[] = [];
  const keyUses: (KeyUse & { readonly organizationId: string })[] = [];
  for (const { recordId, organizationId, ...record } of records) {
    const above = new Map<string, { reads: number; others: number }>();
    for (const request of record.requests) {
      const atMs = uuidV7TimeMs(request.id);
      const day = dayOf(atMs);
      if (!days.includes(day)) continue;
      const key = dayKey(organizationId, day);
      const count = counts.get(key) ?? 0;
      const isRead = isSuccessfulRead(request);
      if (count < (isRead ? maxPerDay * SHARE_OF_READS : maxPerDay)) {
        counts.set(key, count + 1);
        requests.push({ organizationId, day, at: toIso(atMs), request });
      } else {
        const minute = toIso(atMs - (atMs % 60_000));
        const ofMinute = above.get(minute) ?? { reads: 0, others: 0 };
        above.set(minute, ofMinute);
        if (isRead) ofMinute.reads += 1;
        else ofMinute.others += 1;
      }
    }
    for (const { minute, reads, others } of record.omitted) {
      const known = above.get(minute) ?? { reads: 0, others: 0 };
      above.set(minute, { reads: known.reads + reads, others: known.others + others });
    }
    for (const [minute, numbers] of above) {
      const day = minute.slice(0, "2026-01-01".length);
      if (days.includes(day)) omitted.push({ organizationId, day, recordId, minute, ...numbers });
    }
    for (const { keyId, at, address } of record.keyUses) keyUses.push({ organizationId, keyId, at, address });
  }
  return { requests, omitted, keyUses: newestByKey(keyUses) };
}

/** The newest use of each key: one SQL statement cannot write the row of a key twice. */
function newestByKey<Use extends KeyUse>(uses: readonly Use[]): readonly Use[] {
  const newest = new Map<string, Use>();
  for (const use of uses) if (use.at > (newest.get(use.keyId)?.at ?? "")) newest.set(use.keyId, use);
  return [...newest.values()];
}

function isSuccessfulRead({ method, status }: LoggedRequest): boolean {
  return method === "GET" && status !== null && status >= 200 && status < 300;
}

/** The request log in the database. */
export interface RequestLogStore {
  /** Numbers of stored requests of organizations on `days`, by {@link dayKey}. */
  storedCounts(organizationIds: readonly string[], days: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Stores rows in one transaction; repeated rows are stored once. */
  insert(rows: RequestRows): Promise<void>;
  list(organizationId: string, query: ListRequestsQuery): Promise<ConsoleRequestsAnswer>;
  /** Null: no such request of the organization. */
  get(organizationId: string, id: string): Promise<ConsoleRequest | null>;
  /** The newest use of each key of the organization, by key id. */
  lastUses(organizationId: string, keyIds: readonly string[]): Promise<ReadonlyMap<string, Omit<KeyUse, "keyId">>>;
  /** Creates the partition of a day, unless it exists. */
  keepDay(day: string): Promise<void>;
  /** Drops the partitions of earlier days; returns their number. */
  dropDaysBefore(day: string): Promise<number>;
}
