import { type CursorList, type CursorPosition, type PagedQuery, pageStartOf } from "@kapi/contracts";

import type { PageRange } from "../domain/history-ports.ts";

/** The lists of an account's records, which are numbered from 1 without a gap. */
type NumberedList = { [List in CursorList]: CursorPosition<List> extends [number] ? List : never }[CursorList];

/** The rows of a page of numbered records. */
export function rangeOf(list: NumberedList, query: PagedQuery): PageRange {
  const { offset, after } = pageStartOf(list, query);
  return { offset, below: after?.[0] ?? null, limit: query.limit };
}
