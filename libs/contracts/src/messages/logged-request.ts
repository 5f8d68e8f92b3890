/** The request log: what the gateway and metrics publish to `api.requests`. */
import { z } from "zod";

import { AccountNumber } from "../values.ts";

/** Maximum number of requests in one record of `api.requests`: about 100 KB. */
export const MAX_REQUESTS_PER_RECORD = 200;
/** Maximum length of a caller's request id, in characters. */
const MAX_REQUEST_ID_CHARACTERS = 200;

/**
 * One request of an authenticated caller, without its query string, body, headers (except
 * `X-Request-Id`) and secrets. `organizationId` of the record names the organization.
 */
export const LoggedRequest = z.object({
  /** UUIDv7: its time is the time of the request. */
  id: z.uuid(),
  /** `X-Request-Id`. */
  requestId: z.string().max(MAX_REQUEST_ID_CHARACTERS),
  /** Operation id of the interface; `liveMetrics` for a handshake of the live stream. */
  operation: z.string(),
  method: z.string(),
  /** Server and account of the path; null if the path has none, or a malformed one. */
  serverId: z.guid().nullable(),
  accountNumber: AccountNumber.nullable(),
  /** Null: the caller disconnected before the response. */
  status: z.int().min(100).max(599).nullable(),
  errorCode: z.string().nullable(),
  durationMs: z.int().min(0),
  actor: z.object({ type: z.enum(["key", "user"]), id: z.string() }),
  /** Network address of the caller; null if unknown. */
  address: z.string().nullable(),
  creditsCharged: z.int().min(0),
  /** The command that the request queued or read. */
  commandId: z.guid().nullable(),
});
export type LoggedRequest = z.infer<typeof LoggedRequest>;

/** Number of requests of one minute that a process did not log. */
export const OmittedRequests = z.object({
  /** The start of the minute. */
  minute: z.iso.datetime(),
  /** Successful reads. */
  reads: z.int().min(0),
  /** Changes, and requests that failed. */
  others: z.int().min(0),
});
export type OmittedRequests = z.infer<typeof OmittedRequests>;

/** The last use of a key since the process published its previous records. */
export const KeyUse = z.object({ keyId: z.string(), at: z.iso.datetime(), address: z.string().nullable() });
export type KeyUse = z.infer<typeof KeyUse>;

/** Value of a record of `api.requests`: requests of one organization, from one process. */
export const LoggedRequests = z.object({
  /** By this id the console counts the omitted requests of a repeated record once. */
  recordId: z.uuid(),
  organizationId: z.guid(),
  requests: z.array(LoggedRequest).max(MAX_REQUESTS_PER_RECORD),
  omitted: z.array(OmittedRequests),
  keyUses: z.array(KeyUse),
});
export type LoggedRequests = z.infer<typeof LoggedRequests>;
