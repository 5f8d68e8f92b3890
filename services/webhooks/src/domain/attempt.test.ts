import { describe, expect, it } from "vitest";

import { MAX_RETRY_AFTER_MS } from "./retry-schedule.ts";
import { classifyReply, REPLY_START_BYTES, replyStartOf } from "./attempt.ts";

const at = { number: 1, failures: 0, sentAtMs: 1_000, nowMs: 2_000, random: 0 };
const reply = (status: number | null, retryAfter?: string) => ({
  status,
  error: status === null ? "connect ECONNREFUSED" : null,
  durationMs: 7,
  replyStart: "",
  retryAfter,
});

describe("an attempt of a delivery", () => {
  it.each([200, 201, 204, 299])("with the status %i is a success", (status) => {
    expect(classifyReply(reply(status), at)).toMatchObject({
      status: "succeeded",
      dueAtMs: null,
      attempt: { error: null },
    });
  });

  it.each([301, 302, 307, 308, 400, 404, 500, 503, null])(
    "with the status %j (null: no reply) fails and is retried",
    (status) => {
      const outcome = classifyReply(reply(status), at);
      expect(outcome).toMatchObject({ status: "pending", dueAtMs: 7_000, gone: false, pausedUntilMs: null });
      expect(outcome.attempt.error).not.toBeNull();
    },
  );

  it("with the status 410 fails the delivery, and reports the receiver as gone", () => {
    expect(classifyReply(reply(410), at)).toMatchObject({ status: "failed", dueAtMs: null, gone: true });
  });

  it("with the status 429 and Retry-After pauses the endpoint", () => {
    expect(classifyReply(reply(429, "90"), at)).toMatchObject({ dueAtMs: 92_000, pausedUntilMs: 92_000 });
  });

  it("with Retry-After pauses the endpoint only for that time, even if the delivery is retried later or has failed", () => {
    expect(classifyReply(reply(503, "1"), { ...at, failures: 5 })).toMatchObject({
      dueAtMs: 2_000 + 10 * 3_600_000,
      pausedUntilMs: 3_000,
    });
    expect(classifyReply(reply(503, "90"), { ...at, failures: 9 })).toMatchObject({
      status: "failed",
      pausedUntilMs: 92_000,
    });
    expect(classifyReply(reply(503, String(400 * 24 * 3_600)), at).pausedUntilMs).toBe(2_000 + MAX_RETRY_AFTER_MS);
  });

  it("that is the tenth failure fails the delivery", () => {
    expect(classifyReply(reply(500), { ...at, failures: 9 })).toMatchObject({ status: "failed", dueAtMs: null });
  });
});

describe("the first part of a reply", () => {
  it("has at most 1 KiB of the reply, without an incomplete character at the end", () => {
    expect(replyStartOf(Buffer.from("x".repeat(5_000)))).toHaveLength(REPLY_START_BYTES);
    expect(replyStartOf(Buffer.from(`x${"ü".repeat(1_000)}`))).toBe(`x${"ü".repeat(511)}`);
  });

  it("has no control characters, and no secret that the receiver sends back", () => {
    const text = replyStartOf(Buffer.from("a\u0000b\u001b[2J\nc \u009b \u2028 whsec_c2VjcmV0+/= d"));
    expect(text).toBe("a\\u0000b\\u001b[2J\\u000ac \\u009b \\u2028 whsec_… d");
  });
});
