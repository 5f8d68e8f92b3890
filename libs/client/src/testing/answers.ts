/** Requests to the fake, its answers, and its lists in the form of the API. */
import type { Json } from "./state.ts";

/** Records of a page without `limit`. */
export const DEFAULT_LIMIT = 20;

/** A request to the fake. */
export interface FakeRequest {
  readonly method: string;
  readonly url: URL;
  readonly body: Json;
  readonly idempotencyKey: string | null;
}

/** An answer with its status. */
export interface FakeAnswer {
  readonly status: number;
  readonly body: Json;
}

/** An answer that is an error. */
export class FakeError extends Error {
  readonly status: number;
  readonly code: string;
  readonly issues: readonly Json[] | undefined;

  constructor(status: number, code: string, text: string, issues?: readonly Json[]) {
    super(text);
    this.status = status;
    this.code = code;
    this.issues = issues;
  }
}

/** A successful answer. */
export function ok(body: Json): FakeAnswer {
  return { status: 200, body };
}

/** The error of a request with an invalid field. */
export function invalid(field: string, message: string): FakeError {
  return new FakeError(400, "VALIDATION_FAILED", "Invalid request", [{ path: [field], code: "invalid_type", message }]);
}

/** Parameters of lists that do not filter by a field of the same name. */
const NO_FILTERS = new Set(["page", "limit", "cursor", "from", "to", "search", "bulkIdempotencyKey", "ruleId"]);

/** Whether the time by which a list selects a record is at or after `from` and before `to`. */
function isWithin(record: Json, from: string | null, to: string | null): boolean {
  const time = String(record["recordedAt"] ?? record["executedAt"] ?? record["openedAt"] ?? record["createdAt"]);
  return (from === null || time >= from) && (to === null || time < to);
}

/** A page of records that are given oldest first. A cursor is the number of older records. */
export function page(name: string, url: URL, records: readonly Json[]): FakeAnswer {
  const query = url.searchParams;
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  const filters = [...query].filter(([field, value]) => !NO_FILTERS.has(field) && value !== "all");
  const numbered = records.map((record, index) => ({ record, index }));
  const matching = numbered
    .filter(({ record }) => filters.every(([field, value]) => String(record[field]) === value))
    .filter(({ record }) => isWithin(record, query.get("from"), query.get("to")))
    .reverse();
  const below = Number(query.get("cursor") ?? records.length);
  const left = matching.filter(({ index }) => index < below);
  const skipped = query.has("cursor") ? 0 : (Number(query.get("page") ?? 1) - 1) * limit;
  const shown = left.slice(skipped, skipped + limit);
  const last = shown.at(-1);
  const hasMore = last !== undefined && left.at(-1) !== last;
  const pagination = {
    page: Number(query.get("page") ?? 1),
    limit,
    total: matching.length,
    totalPages: Math.ceil(matching.length / limit),
    nextCursor: hasMore ? String(last.index) : null,
  };
  return ok({ [name]: shown.map(({ record }) => record), pagination });
}
