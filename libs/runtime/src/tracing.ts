/**
 * Traces. kapi makes each span explicitly, without OpenTelemetry's automatic instrumentation. There
 * are spans for incoming and outgoing HTTP requests and Kafka messages, attempts of commands,
 * changes on trading servers, bookings of trading events, usage streams, webhook deliveries and
 * batches.
 *
 * The parent of a span is given as a `traceparent`, or is the active span. Services work in
 * batches, so a command carries its trace; the call stack does not. Until {@link enableTracing}
 * (called by `startTelemetry`) every function returns without a span, or only runs the work.
 *
 * Invariants: only an HTTP request begins a trace. Every other span is recorded only if its parent
 * is recorded. A request that is not recorded has no span, no active span, and sends no
 * `traceparent`.
 */
import {
  type Attributes,
  context,
  createContextKey,
  isSpanContextValid,
  type Link,
  type Span as ApiSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";

import { isSampled, type Sampling } from "./sampling.ts";
import { ATTRIBUTE } from "./semantic-conventions.ts";

/** The W3C id of a span: `00-<32 hex: trace>-<16 hex: span>-<2 hex: flags>`. */
export type Traceparent = string;

/** The kind of a span. */
export type SpanRole = "server" | "client" | "producer" | "consumer" | "internal";

/**
 * The place of a span in its trace, and its attributes. Without a recorded parent there is no span.
 */
interface SpanOptions {
  readonly role: SpanRole;
  /** The parent span; undefined: the active span. */
  readonly parent?: Traceparent | undefined;
  readonly attributes?: Readonly<Attributes> | undefined;
  /** Other spans that this span works for, also of other traces. */
  readonly links?: readonly Traceparent[] | undefined;
}

/** A span that is recorded. Call either `end` or `fail`, once. */
export interface Span {
  readonly traceparent: Traceparent;
  set(attributes: Readonly<Attributes>): void;
  /** Ends the span, as failed if there is an error. */
  end(error?: unknown): void;
  /** Ends the span as failed, with the error type `kind`, a word or a status. */
  fail(kind: string): void;
}

/** The span of an HTTP request. */
export interface RequestSpan {
  set(attributes: Readonly<Attributes>): void;
  /** Runs `work` with this span as the active span. */
  run<T>(work: () => T): T;
  end(attributes: Readonly<Attributes>, failed: boolean): void;
}

const VERSION = "00";
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;
const FORBIDDEN_VERSION = "ff";
const REQUEST_ID = createContextKey("kapi request id");
const KINDS: Readonly<Record<SpanRole, SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
};

let tracer: Tracer | null = null;
let sampling: Sampling = () => true;

/** Makes spans with `with_`, for the traces that `which` selects; null turns tracing off. */
export function enableTracing(with_: Tracer | null, which: Sampling = () => true): void {
  tracer = with_;
  sampling = which;
}

/** Whether this process traces: check this before expensive preparations of a span. */
export function isTracing(): boolean {
  return tracer !== null;
}

/** Whether the active span is recorded: check this before computing expensive attributes. */
export function isRecording(): boolean {
  if (tracer === null) return false;
  const active = trace.getSpanContext(context.active());
  return active !== undefined && isSampled(active);
}

/**
 * Begins a child of `options.parent` or of the active span. Null if the parent is not recorded, or
 * tracing is off.
 */
export function startSpan(name: string, options: SpanOptions): Span | null {
  if (tracer === null) return null;
  const parent = options.parent === undefined ? trace.getSpanContext(context.active()) : fromText(options.parent);
  if (parent === undefined || parent === null || !isSampled(parent)) return null;
  const links: Link[] = [];
  for (const text of options.links ?? []) {
    const linked = fromText(text);
    if (linked !== null) links.push({ context: linked });
  }
  const beneath = trace.setSpanContext(ROOT_CONTEXT, parent);
  const settings = { kind: KINDS[options.role], links, attributes: { ...options.attributes } };
  return new RecordedSpan(tracer.startSpan(name, settings, beneath));
}

/**
 * Begins the span of an incoming request: a child of `parent` (its traceparent header) if that is
 * valid, otherwise the first span of a trace. Null if the trace is not recorded, or tracing is off.
 * @param decidedBy `here`: the sampler ignores the parent, and decides as for a trace that begins
 * here.
 */
export function startRequestSpan(
  name: string,
  parent: string | undefined,
  requestId: string,
  decidedBy: "parent" | "here" = "parent",
): RequestSpan | null {
  if (tracer === null) return null;
  const remote = parent === undefined ? null : fromText(parent);
  if (!sampling(decidedBy === "parent" ? remote : null)) return null;
  const decided = { isRemote: true, traceFlags: TraceFlags.SAMPLED };
  const beneath = remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...remote, ...decided });
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, beneath);
  const inside = trace.setSpan(ROOT_CONTEXT, span).setValue(REQUEST_ID, requestId);
  return {
    set: (attributes) => span.setAttributes({ ...attributes }),
    run: (work) => context.with(inside, work),
    end: (atEnd, failed) => {
      span.setAttributes({ ...atEnd });
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** Runs `work` with `span` as the active span; null does not change the active span. */
export function inSpan<T>(span: Span | null, work: () => T): T {
  return span instanceof RecordedSpan ? context.with(trace.setSpan(context.active(), span.span), work) : work();
}

/**
 * Runs the work of a batch. If only one member is traced, its span is the active span. If several
 * members are traced, the work has a span in the trace of the first traced member, linked to all
 * traced members. If no member is traced, the work runs without an active span: a span that happens
 * to be active belongs to other work.
 */
export async function inBatchSpan<T>(
  name: string,
  members: readonly (Traceparent | undefined)[],
  work: () => Promise<T>,
): Promise<T> {
  if (tracer === null) return work();
  const traced = members.filter((member) => member !== undefined);
  const [parent] = traced;
  if (parent === undefined) return context.with(ROOT_CONTEXT, work);
  if (traced.length === 1) return context.with(trace.setSpanContext(ROOT_CONTEXT, fromText(parent) ?? NOTHING), work);
  const attributes = { [ATTRIBUTE.batchSize]: members.length };
  const span = startSpan(name, { role: "internal", parent, links: traced, attributes });
  return context.with(ROOT_CONTEXT, () => spanned(span, work));
}

/**
 * Runs `work` with `span` as the active span. Ends the span after the work, as failed if `work`
 * rejects.
 */
export async function spanned<T>(span: Span | null, work: () => Promise<T>): Promise<T> {
  if (span === null) return work();
  try {
    const result = await inSpan(span, work);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** The active span, for the header of a message or a request. */
export function activeTraceparent(): Traceparent | undefined {
  if (tracer === null) return undefined;
  const active = trace.getSpanContext(context.active());
  return active !== undefined && isSampled(active) ? toText(active) : undefined;
}

/** The id of the current HTTP request, if it is recorded; for its calls to other services. */
export function activeRequestId(): string | undefined {
  if (tracer === null) return undefined;
  const requestId = context.active().getValue(REQUEST_ID);
  return typeof requestId === "string" ? requestId : undefined;
}

/** The fields of a log line that name its span and its request. */
export function logFields(): Record<string, unknown> {
  const active = context.active();
  const span = trace.getSpanContext(active);
  if (span === undefined) return {};
  const requestId = active.getValue(REQUEST_ID);
  return { trace_id: span.traceId, span_id: span.spanId, ...(requestId === undefined ? {} : { requestId }) };
}

/** `text`, from another process, if it names a recorded span; otherwise undefined. */
export function recordedTraceparent(text: string | undefined): Traceparent | undefined {
  if (tracer === null || text === undefined) return undefined;
  const parsed = fromText(text);
  return parsed !== null && isSampled(parsed) ? text : undefined;
}

const NOTHING: SpanContext = { traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: TraceFlags.NONE };

class RecordedSpan implements Span {
  readonly span: ApiSpan;
  readonly traceparent: Traceparent;

  constructor(span: ApiSpan) {
    this.span = span;
    this.traceparent = toText(span.spanContext());
  }

  set(attributes: Readonly<Attributes>): void {
    this.span.setAttributes({ ...attributes });
  }

  end(error?: unknown): void {
    // Only the type: a message may quote a caller's data. The log has the error, with the trace id.
    if (error !== undefined) this.fail(error instanceof Error ? error.name : typeof error);
    else this.span.end();
  }

  fail(kind: string): void {
    this.span.setAttribute(ATTRIBUTE.errorType, kind);
    this.span.setStatus({ code: SpanStatusCode.ERROR });
    this.span.end();
  }
}

function toText({ traceId, spanId, traceFlags }: SpanContext): Traceparent {
  return `${VERSION}-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/**
 * Parses a `traceparent`. Of a later version, only the known parts are read (W3C Trace Context,
 * 3.2). Null if invalid.
 */
function fromText(text: string): SpanContext | null {
  const [, traceId = "", spanId = "", flags = "00", rest = ""] = TRACEPARENT.exec(text) ?? [];
  if (text.startsWith(FORBIDDEN_VERSION) || (text.startsWith(VERSION) && rest !== "")) return null;
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
  return isSpanContextValid(parsed) ? parsed : null;
}
