/** Requests to the fake, its answers, and its lists in the form of the API. */
import type { Json } from "./state.ts";

/** Maximum number of records of a page if the request has no `limit`. */
const DEFAULT_LIMIT = 20;

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

/**
 * The time that a field gives, in UTC with milliseconds, as the records have it.
 * @throws FakeError for a text that is not a time.
 */
export function utcOf(field: string, text: unknown): string {
  const time = new Date(String(text));
  if (Number.isNaN(time.getTime())) throw invalid(field, "Invalid ISO datetime");
  return time.toISOString();
}

/** Query parameters of a list that are not filters. */
const NO_FILTERS = new Set(["page", "limit", "cursor"]);
/** The time by which a list selects records with `from` and `to`. */
const TIME_FIELDS: Readonly<Record<string, string>> = {
  usage: "at",
  transactions: "recordedAt",
  orders: "createdAt",
  positions: "openedAt",
  deals: "executedAt",
  commands: "createdAt",
  breaches: "measuredAt",
};

/** Whether a record matches the filter `parameter` of the list `name`. */
function matches(name: string, record: Json, parameter: string, value: string): boolean {
  const timeMs = Date.parse(String(record[TIME_FIELDS[name] ?? ""]));
  switch (parameter) {
    case "from":
      return timeMs >= Date.parse(value);
    case "to":
      return name === "commands" ? timeMs <= Date.parse(value) : timeMs < Date.parse(value);
    case "search":
      return `${String(record["accountNumber"])}\n${String(record["accountName"])}`
        .toLowerCase()
        .includes(value.toLowerCase());
    case "bulkIdempotencyKey":
      return String(record["idempotencyKey"]).startsWith(`${value}:`);
    case "idempotencyKeyPrefix":
      return String(record["idempotencyKey"]).startsWith(value);
    case "ruleId":
      return (record["rule"] as Json)["id"] === value;
    default:
      return value === "all" || String(record[parameter]) === value;
  }
}

/**
 * Returns a page of a list. `records` are in the reverse order of the list. The cursor after a page
 * is the index in `records` of the last record of the page.
 */
export function page(name: string, url: URL, records: readonly Json[]): FakeAnswer {
  const query = url.searchParams;
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  const filters = [...query].filter(([parameter]) => !NO_FILTERS.has(parameter));
  const numbered = records.map((record, index) => ({ record, index }));
  const matching = numbered
    .filter(({ record }) => filters.every(([parameter, value]) => matches(name, record, parameter, value)))
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
