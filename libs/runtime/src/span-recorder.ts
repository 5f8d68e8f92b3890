/**
 * For tests: stands where the SDK stands in a process that traces, and keeps every span that is
 * begun.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";

import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  trace,
  TraceFlags,
} from "@opentelemetry/api";

import { isSampled, type Sampling } from "./sampling.ts";
import { enableTracing } from "./tracing.ts";

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

/** What is known of one span. */
export interface KeptSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" where it is the first of its trace. */
  readonly parentId: string;
  readonly attributes: Attributes;
  /** The spans it is linked to. */
  readonly links: readonly string[];
  ended: boolean;
}

/** The spans of this process since {@link recordSpans}. */
export interface SpanRecorder {
  readonly spans: readonly KeptSpan[];
  stop(): void;
}

/** Traces this process until `stop`; `sampled` is what becomes of a trace that begins here. */
export function recordSpans(sampled = true): SpanRecorder {
  const spans: KeptSpan[] = [];
  const storage = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => storage.run(active, () => work.apply(self, args)),
    bind: (_active, target) => target,
    enable: () => undefined as never,
    disable: () => undefined as never,
  });
  const startSpan = (name: string, options: SpanOptions = {}, at: Context = ROOT_CONTEXT): Span =>
    begin(spans, sampled, name, options, at);
  const sampling: Sampling = (parent) => (parent === null ? sampled : isSampled(parent));
  enableTracing({ startSpan, startActiveSpan: () => undefined as never }, sampling);
  return {
    spans,
    stop: () => {
      enableTracing(null);
      context.disable();
    },
  };
}

function begin(spans: KeptSpan[], sampled: boolean, name: string, options: SpanOptions, at: Context): Span {
  const parent = trace.getSpanContext(at);
  const spanContext = {
    traceId: parent?.traceId ?? randomBytes(TRACE_ID_BYTES).toString("hex"),
    spanId: randomBytes(SPAN_ID_BYTES).toString("hex"),
    traceFlags: parent?.traceFlags ?? (sampled ? TraceFlags.SAMPLED : TraceFlags.NONE),
  };
  const { traceId, spanId } = spanContext;
  const attributes: Attributes = { ...options.attributes };
  const links = (options.links ?? []).map((link) => link.context.spanId);
  const kept: KeptSpan = { name, traceId, spanId, parentId: parent?.spanId ?? "", attributes, links, ended: false };
  const isSampled = (spanContext.traceFlags & TraceFlags.SAMPLED) !== 0;
  if (isSampled) spans.push(kept);
  const span: Span = Object.assign(trace.wrapSpanContext(spanContext), {
    setAttribute: (key: string, value: Attributes[string]) => {
      attributes[key] = value;
      return span;
    },
    setAttributes: (more: Attributes) => {
      Object.assign(attributes, more);
      return span;
    },
    isRecording: () => isSampled,
    end: () => {
      kept.ended = true;
    },
  });
  return span;
}
