import { z } from "zod";

import { AccountNumber } from "../values.ts";
import { MAX_PAGE, type Pagination } from "./pagination.ts";

/** Longest accepted cursor, in characters. */
const MAX_CURSOR_CHARACTERS = 200;

/** A time with microseconds, as PostgreSQL stores it. */
const Time = z.iso.datetime({ precision: 6 });
/** The number of a record on its account. */
const Numbered = z.tuple([z.int().min(1)]);

/**
 * The lists that are read by cursor, with the key of a record in the order of its list. A key is
 * unique and never changes, so a walk repeats and skips nothing (decisions, 14).
 */
const POSITIONS = {
  transactions: Numbered,
  orders: Numbered,
  positions: Numbered,
  deals: Numbered,
  commands: z.tuple([Time, z.guid()]),
  accounts: z.tuple([Time, AccountNumber]),
  deliveries: z.tuple([Time, z.guid()]),
  usage: z.tuple([Time, z.guid(), z.string().regex(/^[a-z]{1,16}$/)]),
} as const satisfies Readonly<Record<string, z.ZodType>>;

export type CursorList = keyof typeof POSITIONS;
export type CursorPosition<List extends CursorList> = z.infer<(typeof POSITIONS)[List]>;

/** Where a walk through a list is. */
export interface ReadCursor<List extends CursorList> {
  /** Number of the page that follows. */
  readonly page: number;
  /** The key of the last record that was read. */
  readonly position: CursorPosition<List>;
}

/** Returns the text of a cursor, which callers do not interpret. */
export function formatCursor<List extends CursorList>(list: List, { page, position }: ReadCursor<List>): string {
  return Buffer.from(JSON.stringify([list, page, ...position])).toString("base64url");
}

/** Reads a cursor; null for a text that is no cursor of the list. */
export function parseCursor<List extends CursorList>(list: List, text: string): ReadCursor<List> | null {
  const parts = jsonOf(text);
  if (!Array.isArray(parts) || parts[0] !== list) return null;
  const page = z.int().min(2).max(MAX_PAGE).safeParse(parts[1]);
  const position = POSITIONS[list].safeParse(parts.slice(2));
  if (!page.success || !position.success) return null;
  return { page: page.data, position: position.data as CursorPosition<List> };
}

/** The query parameter `cursor` of a list. */
export function cursorOf(list: CursorList) {
  return z
    .string()
    .max(MAX_CURSOR_CHARACTERS)
    .refine((text) => parseCursor(list, text) !== null, {
      error: "must be nextCursor of an earlier page of this list",
    });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    return null;
  }
}

/** The query of a list that is read by page number or by cursor. */
export interface PagedQuery {
  /** Ignored beside a cursor. */
  readonly page: number;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Where a page begins: behind the record at `after`, or else behind the newest `offset` records. */
export interface PageStart<List extends CursorList> {
  readonly offset: number;
  readonly after: CursorPosition<List> | null;
}

/**
 * Returns where the page of a valid query begins. A page after the last one has no rows. The offset
 * is limited, so that the largest page number is accepted too.
 */
export function pageStartOf<List extends CursorList>(list: List, { page, limit, cursor }: PagedQuery): PageStart<List> {
  const read = cursor === undefined ? null : parseCursor(list, cursor);
  if (read !== null) return { offset: 0, after: read.position };
  return { offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER), after: null };
}

/**
 * Returns the pagination object of a page. `total`: the records that match; `last`: the key of the
 * page's last record, null if no record follows it.
 */
export function paginationOf<List extends CursorList>(
  list: List,
  { page, limit, cursor }: PagedQuery,
  total: number,
  last: CursorPosition<List> | null,
): Pagination {
  const number = (cursor === undefined ? null : parseCursor(list, cursor))?.page ?? page;
  const nextCursor = last === null ? null : formatCursor(list, { page: number + 1, position: last });
  return { page: number, limit, total, totalPages: Math.ceil(total / limit), nextCursor };
}
