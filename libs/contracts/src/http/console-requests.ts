/** The request log of the console: GET /requests and GET /requests/:id. */
import { z } from "zod";

import { ERRORS, type ErrorCode } from "../errors.ts";
import { LoggedRequest } from "../messages/logged-request.ts";
import { AccountNumber, DateTime, Guid, queryInteger } from "../values.ts";

/** How long the console keeps requests, in days. */
export const REQUEST_LOG_DAYS = 7;
const MAX_LISTED_REQUESTS = 100;
const DEFAULT_LISTED_REQUESTS = 50;
const MAX_TEXT_CHARACTERS = 200;
const STATUS = /^(?:[2-5]xx|[1-5]\d\d|none)$/;
const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

/** Query of GET /requests. `from` is inclusive, `to` exclusive. */
export const ListRequestsQuery = z.object({
  /** `nextCursor` of an earlier page. */
  cursor: z.guid().optional(),
  limit: queryInteger(1, MAX_LISTED_REQUESTS).default(DEFAULT_LISTED_REQUESTS),
  operation: z.string().min(1).max(MAX_TEXT_CHARACTERS).optional(),
  /** `402`, or a class such as `4xx`; `none`: the caller disconnected before the response. */
  status: z.string().regex(STATUS, "must be a status such as 402, a class such as 4xx, or none").optional(),
  code: z.enum(ERROR_CODES).optional(),
  /** The id of the management key, or of the person, that sent the request. */
  actor: z.string().min(1).max(MAX_TEXT_CHARACTERS).optional(),
  requestId: z.string().min(1).max(MAX_TEXT_CHARACTERS).optional(),
  serverId: Guid.optional(),
  /** Without `serverId`: accounts with this number on all servers. */
  accountNumber: AccountNumber.optional(),
  from: DateTime.optional(),
  to: DateTime.optional(),
});
export type ListRequestsQuery = z.output<typeof ListRequestsQuery>;

/** A request in the log. */
export const ConsoleRequest = LoggedRequest.extend({ at: z.iso.datetime() });
export type ConsoleRequest = z.infer<typeof ConsoleRequest>;

/**
 * Answer of GET /requests, newest first. A search stops after a limited number of requests, so a
 * page may be short although `nextCursor` is not null.
 */
export const ConsoleRequestsAnswer = z.object({
  requests: z.array(ConsoleRequest),
  nextCursor: z.string().nullable(),
  /**
   * How far back the search has come: the time of the request that `nextCursor` names. Null if the
   * search reached the end.
   */
  searchedTo: z.iso.datetime().nullable(),
  /** Number of requests of the searched time that were not logged. */
  omitted: z.object({ reads: z.int().min(0), others: z.int().min(0) }),
});
export type ConsoleRequestsAnswer = z.infer<typeof ConsoleRequestsAnswer>;

/** Answer of GET /requests/:id. */
export const ConsoleRequestAnswer = z.object({ request: ConsoleRequest });
export type ConsoleRequestAnswer = z.infer<typeof ConsoleRequestAnswer>;
