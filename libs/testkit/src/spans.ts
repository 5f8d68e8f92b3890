/**
 * The spans of a test's own process, made by OpenTelemetry's SDK. Not its `InMemorySpanExporter`:
 * that has a span when it ended, and tests ask for those that have not, in the order in which they
 * began.
 */
import { type Attributes, context, TraceFlags } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { AlwaysOnSampler, type SpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

import { enableTracing } from "@kapi/runtime";

/** What is known of one span, at any moment. */
export interface KeptSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" where it is the first of its trace. */
  readonly parentId: string;
  readonly attributes: Attributes;
  /** The spans it is linked to. */
  readonly links: readonly string[];
  readonly ended: boolean;
}

/** The spans of this process since {@link recordSpans}, in the order in which they began. */
export interface SpanRecorder {
  readonly spans: readonly KeptSpan[];
  stop(): void;
}

/** Traces this process until `stop`; `sampled` is what becomes of a trace that begins here. */
export function recordSpans(sampled = true): SpanRecorder {
  const spans: KeptSpan[] = [];
  const processor: SpanProcessor = {
    onStart: (span) => {
      const { traceId, spanId } = span.spanContext();
      spans.push({
        name: span.name,
        traceId,
        spanId,
        parentId: span.parentSpanContext?.spanId ?? "",
        links: span.links.map((link) => link.context.spanId),
        get attributes() {
          return span.attributes;
        },
        get ended() {
          return span.ended;
        },
      });
    },
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  // As in production: only what is to be recorded comes to the SDK.
  const provider = new TracerProvider({ sampler: new AlwaysOnSampler(), spanProcessors: [processor] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  enableTracing(provider.getTracer("test"), (parent) =>
    parent === null ? sampled : (parent.traceFlags & TraceFlags.SAMPLED) !== 0,
  );
  return {
    spans,
    stop: () => {
      enableTracing(null);
      context.disable();
    },
  };
}
