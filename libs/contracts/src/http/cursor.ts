/**
 * Cursors of lists (decisions, 14). A cursor names the last record of a page by its key in the
 * order of the list. Keys are unique and never change, so the next page begins with the same record
 * whatever was added meanwhile. There are two exceptions: the keys of `rankedAccounts` change with
 * the ranked value (decisions, 25), and a rebuild of an account can renumber its records
 * (decisions, 14.1).
 */
import { z } from "zod";

import { AccountNumber } from "../values.ts";

/** Maximum length of a cursor, in characters. */
export const MAX_CURSOR_CHARACTERS = 200;
/** Raised when the text of cursors changes; cursors of other versions are rejected. */
const VERSION = 1;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** A time with the precision of the database, which is finer than that of the API. */
const Instant = z
  .string()
  .regex(/^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  .refine((text) => {
    const millis = `${text.slice(0, "2026-01-01T00:00:00.000".length)}Z`;
    const time = new Date(millis);
    return !Number.isNaN(time.getTime()) && time.toISOString() === millis;
  });
/** The number of a record among those of its account. */
const Sequence = z.int().min(1);

/** The value that an account is sorted by: a number or a time; null: it has none. */
const RankValue = z
  .string()
  .max(32)
  .regex(/^[0-9A-Za-z.:+-]+$/)
  .nullable();

/** The key of a record, by list: the columns that the list is ordered by. */
const KEYS = {
  transactions: z.tuple([Sequence]),
  orders: z.tuple([Sequence]),
  positions: z.tuple([Sequence]),
  deals: z.tuple([Sequence]),
  accounts: z.tuple([Instant, AccountNumber]),
  // The sort and its direction, the value, the account number.
  rankedAccounts: z.tuple([z.string().max(20), RankValue, AccountNumber]),
  commands: z.tuple([Instant, z.guid()]),
  usage: z.tuple([Instant, z.guid(), z.enum(["consume", "refund", "reserve", "settle"])]),
  deliveries: z.tuple([Instant, z.guid()]),
  breaches: z.tuple([Instant, z.guid()]),
  digests: z.tuple([AccountNumber]),
} as const;

/** The lists that have cursors. */
export type CursorList = keyof typeof KEYS;
/** The key of a record in a list. */
export type CursorKey<List extends CursorList> = z.infer<(typeof KEYS)[List]>;

/** The content of a cursor. */
export interface Cursor<List extends CursorList> {
  /** The ids in the path of the list, such as `serverId/accountNumber`: see {@link listScope}. */
  readonly scope: string;
  /** Number of the page that begins after `after`. */
  readonly page: number;
  /** The key of the last record before that page. */
  readonly after: CursorKey<List>;
}

/** What identifies a list among the lists of its kind, from the parameters of its path. */
export function listScope({ serverId, accountNumber, endpointId }: Readonly<Partial<Record<string, string>>>): string {
  return [(serverId ?? endpointId)?.toLowerCase(), accountNumber].filter((part) => part !== undefined).join("/");
}

/** The scope of a cursor that is known to decode: see {@link listScope}. */
export function cursorScope(text: string): string {
  const [, , scope] = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as unknown[];
  return String(scope);
}

/** Returns the text of a cursor, base64url. */
export function encodeCursor<List extends CursorList>(list: List, { scope, page, after }: Cursor<List>): string {
  return Buffer.from(JSON.stringify([VERSION, list, scope, page, ...after])).toString("base64url");
}

/** Returns the content of a cursor; null if `text` is no cursor of this kind of list. */
export function decodeCursor<List extends CursorList>(list: List, text: string): Cursor<List> | null {
  if (text.length > MAX_CURSOR_CHARACTERS || !BASE64URL.test(text)) return null;
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    return null;
  }
  if (!Array.isArray(content)) return null;
  const [version, kind, scope, page, ...key] = content as unknown[];
  if (version !== VERSION || kind !== list || typeof scope !== "string" || !PageNumber.safeParse(page).success)
    return null;
  const after = KEYS[list].safeParse(key);
  return after.success ? { scope, page: page as number, after: after.data as CursorKey<List> } : null;
}

const PageNumber = z.int().min(1);

/** The schema of `cursor` in the query of a list. It accepts only a text that decodes. */
export function cursorOf(list: CursorList) {
  return z
    .string()
    .max(MAX_CURSOR_CHARACTERS)
    .refine((text) => decodeCursor(list, text) !== null, {
      error: "must be nextCursor of an earlier page of this list",
    });
}
