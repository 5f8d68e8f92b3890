import type { DeliveryAttempt } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";

import { MAX_RETRY_AFTER_MS, retryAfterOf, retryDelayMs } from "./retry-schedule.ts";

const GONE = 410;

/** The result of one request. */
export interface Reply {
  /** Null without a response. */
  readonly status: number | null;
  /** Why there is no response; null if there is a response. */
  readonly error: string | null;
  readonly durationMs: number;
  /** First part of the response body, made safe to show. */
  readonly replyStart: string;
  /** Header `Retry-After`. */
  readonly retryAfter: string | undefined;
}

/** The state of a delivery after an attempt. */
export interface AttemptOutcome {
  readonly status: "succeeded" | "failed" | "pending";
  /** When to retry, in milliseconds since 1970; null without a retry. */
  readonly dueAtMs: number | null;
  /** Whether the receiver answered 410: it wants no more deliveries. */
  readonly gone: boolean;
  /**
   * End of the pause that the receiver requested by Retry-After of 429 or 503, in milliseconds
   * since 1970; null if the receiver requested no pause. A pause lasts 24 h at most. During the
   * pause this process starts no delivery to the endpoint. If a running delivery succeeds, the
   * pause continues. If a running delivery gets another Retry-After with a later end, the pause is
   * extended. `dueAtMs` may be later than the end of the pause.
   */
  readonly pausedUntilMs: number | null;
  readonly attempt: DeliveryAttempt;
}

/**
 * Classifies the reply to an attempt (decisions, 11). 2xx succeeds. 410 fails the delivery, and the
 * caller disables the endpoint. After every other status, including 3xx, and without a response,
 * the delivery is retried on the schedule. It fails after the last attempt.
 */
export function classifyReply(
  reply: Reply,
  { number, failures, sentAtMs, nowMs, random }: AttemptContext,
): AttemptOutcome {
  const succeeded = reply.status !== null && reply.status >= 200 && reply.status <= 299;
  const attempt: DeliveryAttempt = {
    number,
    at: toIso(sentAtMs),
    status: reply.status,
    error: succeeded ? null : (reply.error ?? errorOf(reply.status)),
    durationMs: reply.durationMs,
    replyStart: reply.replyStart,
  };
  if (succeeded) return { status: "succeeded", dueAtMs: null, gone: false, pausedUntilMs: null, attempt };
  const gone = reply.status === GONE;
  const requestedMs = retryAfterOf(reply.status, reply.retryAfter, nowMs);
  const delayMs = gone ? null : retryDelayMs(failures + 1, requestedMs, random);
  return {
    status: delayMs === null ? "failed" : "pending",
    dueAtMs: delayMs === null ? null : nowMs + delayMs,
    gone,
    // Not `delayMs`, which may be longer: other deliveries need not wait for this retry.
    pausedUntilMs: requestedMs === null ? null : nowMs + Math.min(requestedMs, MAX_RETRY_AFTER_MS),
    attempt,
  };
}

/** An attempt. Times in milliseconds since 1970. */
export interface AttemptContext {
  /** Counts from 1 and continues after a redelivery. */
  readonly number: number;
  /** Failed attempts before this attempt, since the delivery was created or last restarted. */
  readonly failures: number;
  readonly sentAtMs: number;
  readonly nowMs: number;
  /** From 0 (inclusive) to 1, for the jitter. */
  readonly random: number;
}

function errorOf(status: number | null): string {
  if (status !== null && status >= 300 && status <= 399) return `answered ${status}: redirects are not followed`;
  return `answered ${status}`;
}

/** Control characters and line separators: they break the display of a reply. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g; // eslint-disable-line no-control-regex
const SECRET = /whsec_[A-Za-z0-9+/=]+/g;
/** Maximum number of bytes kept of a reply. */
export const REPLY_START_BYTES = 1_024;

/**
 * The first part of a reply, made safe to show: control characters are escaped, secrets are
 * removed.
 */
export function replyStartOf(body: Buffer): string {
  const text = body
    .subarray(0, REPLY_START_BYTES)
    .toString("utf8")
    .replace(/\ufffd$/, "");
  return text
    .replaceAll(SECRET, "whsec_…")
    .replaceAll(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
