/** The global search of the console: GET /search. */
import { z } from "zod";

import { Guid } from "../values.ts";

/** Maximum length of a searched text, in characters. */
export const MAX_SEARCH_CHARACTERS = 100;
/**
 * Minimum length of a text that is searched in account numbers, account names and request ids: a
 * shorter text would read all accounts. Shorter texts are only searched in the names of keys.
 */
export const MIN_SEARCH_CHARACTERS = 3;

/** Query of GET /search. */
export const SearchQuery = z.object({ q: z.string().trim().min(1).max(MAX_SEARCH_CHARACTERS) });

/** The kinds of records that are searched. */
export const SEARCH_SOURCES = [
  "accounts",
  "commands",
  "transactions",
  "requests",
  "events",
  "breaches",
  "keys",
] as const;
export const SearchSource = z.enum(SEARCH_SOURCES);
export type SearchSource = z.infer<typeof SearchSource>;

const OfAccount = z.object({ serverId: Guid, accountNumber: z.string() });

/** One result: what the link to its page needs, and what distinguishes it from other results. */
export const SearchResult = z.discriminatedUnion("kind", [
  OfAccount.extend({ kind: z.literal("account"), accountName: z.string(), status: z.string() }),
  z.object({
    kind: z.literal("command"),
    serverId: Guid,
    commandId: Guid,
    operation: z.string(),
    status: z.string(),
    requestId: z.string().nullable(),
    accountNumber: z.string().nullable(),
    createdAt: z.iso.datetime(),
  }),
  OfAccount.extend({
    kind: z.literal("transaction"),
    transactionId: Guid,
    type: z.string(),
    amount: z.number(),
    currency: z.string(),
    commandId: z.string().nullable(),
    recordedAt: z.iso.datetime(),
  }),
  z.object({
    kind: z.literal("request"),
    id: z.uuid(),
    requestId: z.string(),
    operation: z.string(),
    status: z.int().nullable(),
    at: z.iso.datetime(),
  }),
  z.object({
    kind: z.literal("event"),
    eventId: z.uuid(),
    type: z.string(),
    accountNumber: z.string().nullable(),
    createdAt: z.iso.datetime(),
  }),
  OfAccount.extend({
    kind: z.literal("breach"),
    breachId: Guid,
    ruleId: z.string(),
    measuredAt: z.iso.datetime(),
  }),
  z.object({ kind: z.literal("key"), keyId: z.string(), name: z.string(), status: z.string() }),
]);
export type SearchResult = z.infer<typeof SearchResult>;

/** Answer of GET /search. */
export const SearchAnswer = z.object({
  /**
   * At most a few of each kind, in the order of {@link SEARCH_SOURCES}. Accounts, and request ids
   * of commands, are searched on a limited number of servers.
   */
  results: z.array(SearchResult),
  /** Sources that failed or did not answer in time: they may have further results. */
  unavailable: z.array(SearchSource),
});
export type SearchAnswer = z.infer<typeof SearchAnswer>;
