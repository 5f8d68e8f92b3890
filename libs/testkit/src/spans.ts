/**
 * The spans of the test's process, made by OpenTelemetry's SDK. `InMemorySpanExporter` is not used:
 * it has only ended spans, and tests also check open spans, in the order of their start.
 */
import { type Attributes, context, TraceFlags } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { AlwaysOnSampler, type SpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

import { enableTracing } from "@kapi/runtime";

/** A span, which may be open or ended. */
export interface KeptSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" for the first span of a trace. */
  readonly parentId: string;
  readonly attributes: Attributes;
  /** The ids of the linked spans. */
  readonly links: readonly string[];
  readonly ended: boolean;
}

/** The spans of this process since {@link recordSpans}, in the order of their start. */
export interface SpanRecorder {
  readonly spans: readonly KeptSpan[];
  stop(): void;
}

/**
 * Traces this process until `stop`. `sampled`: whether traces that begin in this process are
 * recorded.
 */
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
  // As in production, the SDK only gets spans that are recorded.
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
