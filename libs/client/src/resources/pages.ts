import type { Pagination } from "../generated/api.ts";
import type { Query, Transport } from "../http/transport.ts";
import { List } from "../list.ts";

/** The pagination object of an answer. */
type AnswerPagination = Pick<Pagination, "total"> & { readonly nextCursor: string | null };

/** Returns the list at `path`, whose answers hold the records in the field `field`. */
export function listOf<T>(transport: Transport, path: string, field: string, query: Query = {}): List<T> {
  return new List<T>(async ({ cursor, limit }) => {
    const { body } = await transport.request<Readonly<Record<string, unknown>>>({
      method: "GET",
      path,
      query: { ...query, cursor, limit },
    });
    const { total, nextCursor } = body["pagination"] as AnswerPagination;
    return { items: body[field] as readonly T[], total, nextCursor };
  });
}

/** Selects records of a list by one of their times. The filter of the list says which time. */
export interface Period {
  /** Records at or after this time. */
  readonly since?: Date | string | undefined;
  /** Records before this time. */
  readonly until?: Date | string | undefined;
}

/** Returns the query of a filter: its period as `from` (inclusive) and `to` (exclusive). */
export function filterQuery({ since, until, ...fields }: Period & Query): Query {
  return { ...fields, from: since, to: until };
}
