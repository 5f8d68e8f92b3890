import type { DeliveryAttempt } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";

import { restAfter, retryAfterOf } from "./retry-schedule.ts";

const GONE = 410;

/** What came of sending once. */
export interface Reply {
  /** Null where there was no answer. */
  readonly status: number | null;
  /** Why there was none; null where there was one. */
  readonly error: string | null;
  readonly durationMs: number;
  /** First part of the answer's body, made safe to show. */
  readonly replyStart: string;
  /** Header `Retry-After`. */
  readonly retryAfter: string | undefined;
}

/** How a delivery stands after an attempt. */
export interface Verdict {
  readonly status: "succeeded" | "failed" | "pending";
  /** When to try again, in milliseconds since 1970; null where that is not. */
  readonly dueAtMs: number | null;
  /** The receiver wants nothing any more. */
  readonly gone: boolean;
  /**
   * Until when the receiver asked not to be sent anything, in milliseconds since 1970; null where
   * it did not.
   */
  readonly quietUntilMs: number | null;
  readonly attempt: DeliveryAttempt;
}

/**
 * Judges an attempt: 2xx is success; 410 ends it and the endpoint; everything else, 3xx too, is
 * tried again by the schedule (decisions, 11).
 * @param failures failed attempts before this one since the delivery was begun.
 * @param random from 0 (inclusive) to 1, for the jitter.
 */
export function judge(reply: Reply, { number, failures, sentAtMs, nowMs, random }: JudgedAttempt): Verdict {
  const succeeded = reply.status !== null && reply.status >= 200 && reply.status <= 299;
  const attempt: DeliveryAttempt = {
    number,
    at: toIso(sentAtMs),
    status: reply.status,
    error: succeeded ? null : (reply.error ?? errorOf(reply.status)),
    durationMs: reply.durationMs,
    replyStart: reply.replyStart,
  };
  if (succeeded) return { status: "succeeded", dueAtMs: null, gone: false, quietUntilMs: null, attempt };
  const gone = reply.status === GONE;
  const askedMs = retryAfterOf(reply.status, reply.retryAfter, nowMs);
  const restMs = gone ? null : restAfter(failures + 1, askedMs, random);
  return {
    status: restMs === null ? "failed" : "pending",
    dueAtMs: restMs === null ? null : nowMs + restMs,
    gone,
    quietUntilMs: askedMs === null || restMs === null ? null : nowMs + restMs,
    attempt,
  };
}

/** Which attempt is judged, and when. Times in milliseconds since 1970. */
export interface JudgedAttempt {
  /** From 1, over all time. */
  readonly number: number;
  readonly failures: number;
  readonly sentAtMs: number;
  readonly nowMs: number;
  readonly random: number;
}

function errorOf(status: number | null): string {
  if (status !== null && status >= 300 && status <= 399) return `answered ${status}: redirects are not followed`;
  return `answered ${status}`;
}

/** Control characters, line and paragraph separators: what would disturb whoever shows a reply. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g; // eslint-disable-line no-control-regex
const SECRET = /whsec_[A-Za-z0-9+/=]+/g;
/** How much of a reply is kept, in bytes. */
export const REPLY_START_BYTES = 1_024;

/**
 * The first part of a reply, made safe to show: control characters escaped, a secret that it
 * repeats left out.
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
