import { type KeptSpan, recordSpans, type SpanRecorder } from "@kapi/testkit/spans";
import { afterEach, describe, expect, it } from "vitest";

import {
  activeTraceparent,
  inBatchSpan,
  inSpan,
  isTracing,
  logFields,
  recordedTraceparent,
  spanned,
  startRequestSpan,
  startSpan,
} from "./tracing.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const OTHER_TRACE_ID = "1af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
const SAMPLED = `00-${TRACE_ID}-${SPAN_ID}-01`;
const OTHER_SAMPLED = `00-${OTHER_TRACE_ID}-${SPAN_ID}-01`;
const NOT_SAMPLED = `00-${TRACE_ID}-${SPAN_ID}-00`;

let recorder: SpanRecorder | null = null;

afterEach(() => {
  recorder?.stop();
  recorder = null;
});

/** Traces from here to the end of the test. */
function record(sampled = true): readonly KeptSpan[] {
  recorder = recordSpans(sampled);
  return recorder.spans;
}

describe("without tracing", () => {
  it("no span is made, and the work runs", async () => {
    expect(isTracing()).toBe(false);
    expect(startSpan("work", { role: "internal", parent: SAMPLED })).toBeNull();
    expect(startRequestSpan("GET /", SAMPLED, "r-1")).toBeNull();
    expect(inSpan(null, () => 1)).toBe(1);
    expect(await spanned(null, async () => 2)).toBe(2);
    expect(await inBatchSpan("batch", [SAMPLED], async () => 3)).toBe(3);
    expect([activeTraceparent(), recordedTraceparent(SAMPLED)]).toEqual([undefined, undefined]);
  });
});

describe("a span", () => {
  it("is a child of the given parent, whatever span is active", () => {
    const spans = record();
    const outer = startSpan("outer", { role: "internal", parent: OTHER_SAMPLED });
    const span = inSpan(outer, () => startSpan("inner", { role: "internal", parent: SAMPLED }));
    expect(spans[1]).toMatchObject({ name: "inner", traceId: TRACE_ID, parentId: SPAN_ID });
    expect(span?.traceparent).toBe(`00-${TRACE_ID}-${spans[1]?.spanId}-01`);
  });

  it("is a child of the active span by default", () => {
    const spans = record();
    const outer = startSpan("outer", { role: "internal", parent: SAMPLED });
    inSpan(outer, () => startSpan("inner", { role: "client" }));
    expect(spans[1]?.parentId).toBe(spans[0]?.spanId);
  });

  it("is not made without a parent, or for a parent that is not recorded", () => {
    const spans = record();
    expect(startSpan("work", { role: "internal", parent: NOT_SAMPLED })).toBeNull();
    expect(startSpan("work", { role: "internal" })).toBeNull();
    expect(spans).toEqual([]);
  });

  it.each([
    "",
    "nonsense",
    `00-${"0".repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${"0".repeat(16)}-01`,
    `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
    `ff-${TRACE_ID}-${SPAN_ID}-01`,
    `${SAMPLED}-more`,
  ])("is not made for the invalid parent %j", (text) => {
    record();
    expect(startSpan("work", { role: "internal", parent: text })).toBeNull();
    expect(recordedTraceparent(text)).toBeUndefined();
  });

  it("accepts a parent in the format of a later version of the standard", () => {
    const spans = record();
    startSpan("work", { role: "internal", parent: `01-${TRACE_ID}-${SPAN_ID}-01-more` });
    expect(spans[0]?.parentId).toBe(SPAN_ID);
  });

  it("ends when the work ends, and has the error type of failed work", async () => {
    const spans = record();
    const failing = spanned(startSpan("work", { role: "internal", parent: SAMPLED }), () =>
      Promise.reject(new RangeError("too much")),
    );
    await expect(failing).rejects.toThrow("too much");
    expect(spans[0]).toMatchObject({ ended: true, attributes: { "error.type": "RangeError" } });
  });
});

it("a span that failed without an error has the given error type", () => {
  const kept = record();
  startSpan("call", { role: "client", parent: SAMPLED })?.fail("503");
  expect(kept).toMatchObject([{ attributes: { "error.type": "503" }, ended: true }]);
});

describe("the span of a request", () => {
  it("begins a trace, or is a child of the caller's span", () => {
    const spans = record();
    startRequestSpan("GET /a", undefined, "r-1");
    startRequestSpan("GET /b", "nonsense", "r-2");
    startRequestSpan("GET /c", SAMPLED, "r-3");
    expect(spans.map(({ parentId }) => parentId)).toEqual(["", "", SPAN_ID]);
  });

  it("is not made if the trace is not recorded, by the sampler's or the caller's decision", () => {
    const spans = record(false);
    expect(startRequestSpan("GET /a", undefined, "r-1")).toBeNull();
    expect(startRequestSpan("GET /b", NOT_SAMPLED, "r-2")).toBeNull();
    expect(startRequestSpan("GET /c", SAMPLED, "r-3")).not.toBeNull();
    expect(spans).toMatchObject([{ name: "GET /c" }]);
  });

  it("is on every log line of the request, with the request's id", () => {
    const spans = record();
    startRequestSpan("GET /a", SAMPLED, "r-1")?.run(() => {
      expect(logFields()).toEqual({ trace_id: TRACE_ID, span_id: spans[0]?.spanId, requestId: "r-1" });
    });
    expect(logFields()).toEqual({});
  });
});

describe("the work of a batch", () => {
  it("has a span in the trace of the first traced member, linked to all traced members", async () => {
    const spans = record();
    const members = [SAMPLED, undefined, OTHER_SAMPLED].map((parent) =>
      parent === undefined ? null : startSpan("member", { role: "internal", parent }),
    );
    await inBatchSpan(
      "batch",
      members.map((member) => member?.traceparent),
      async () => {
        startSpan("call", { role: "client" });
      },
    );
    const [first, second, batch, call] = spans;
    expect(batch).toMatchObject({ name: "batch", traceId: TRACE_ID, parentId: first?.spanId, ended: true });
    expect(batch?.links).toEqual([first?.spanId, second?.spanId]);
    expect(batch?.attributes).toEqual({ "kapi.batch.size": 3 });
    expect(call?.parentId).toBe(batch?.spanId);
  });

  it("has no span of its own if only one member is traced: calls are children of that member's span", async () => {
    const spans = record();
    await inBatchSpan("batch", [undefined, SAMPLED], async () => startSpan("call", { role: "client" }));
    expect(spans).toMatchObject([{ name: "call", parentId: SPAN_ID }]);
  });

  it("is in no trace if no member is traced, whatever span is active", async () => {
    const spans = record();
    const stray = startSpan("stray", { role: "internal", parent: SAMPLED });
    await inSpan(stray, () => inBatchSpan("batch", [undefined], async () => startSpan("call", { role: "client" })));
    expect(spans).toHaveLength(1);
  });
});
