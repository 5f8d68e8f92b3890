/**
 * Traces, made by hand at the seams: HTTP in and out, Kafka in and out, a command's attempts,
 * changes and bookings.
 *
 * What: a span is begun beneath another one, which is named by its `traceparent`, or is the active
 * one. Why by name: work here goes in batches, so a command's trace goes along with the command and
 * not with the call stack. Life: until {@link enableTracing} (called by `startTelemetry`) every
 * function answers at once with null or does the work and nothing else. Invariants: only an HTTP
 * request begins a trace; nothing is recorded beneath a span that is not; of a request that is not
 * recorded no span is made, none is active, and none is passed on to other processes.
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

/** A span by its W3C name: `00-<32 hex: trace>-<16 hex: span>-<2 hex: flags>`. */
export type Traceparent = string;

/** What a span is in the eyes of its neighbours. */
export type SpanRole = "server" | "client" | "producer" | "consumer" | "internal";

export interface SpanOptions {
  readonly role: SpanRole;
  /** Beneath which span; undefined: the one that is active. */
  readonly parent?: Traceparent | undefined;
  readonly attributes?: Readonly<Attributes> | undefined;
  /** Spans of other traces that this one worked for too. */
  readonly links?: readonly Traceparent[] | undefined;
}

/** A span that is recorded. */
export interface Span {
  readonly traceparent: Traceparent;
  set(attributes: Readonly<Attributes>): void;
  /** Ends it, with the error that ended the work if one did; called once. */
  end(error?: unknown): void;
  /** Ends it as failed by `kind`, a word or a status; called once. */
  fail(kind: string): void;
}

/** The span of an HTTP request. */
export interface RequestSpan {
  set(attributes: Readonly<Attributes>): void;
  /** Runs `work`, and all that it begins, with this span as the active one. */
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

/** From now on spans are made by `with_`, of the traces that `which` names; null ends it. */
export function enableTracing(with_: Tracer | null, which: Sampling = () => true): void {
  tracer = with_;
  sampling = which;
}

/** Whether this process traces at all: for what would cost something by itself. */
export function isTracing(): boolean {
  return tracer !== null;
}

/**
 * Whether the active span is recorded: for spans beneath it whose attributes would cost something
 * by themselves.
 */
export function isRecording(): boolean {
  if (tracer === null) return false;
  const active = trace.getSpanContext(context.active());
  return active !== undefined && isSampled(active);
}

/**
 * Begins a span beneath `options.parent`, or beneath the active span; null where that is not
 * recorded, and wherever nothing is traced.
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
 * Begins the span of a request that came in: beneath `parent` (its traceparent header) if that is
 * one, else a trace of its own. Null where nothing is traced, and of a trace that is not recorded:
 * nothing at all is made for such a request.
 * @param decidedBy `here`: whether it is recorded is decided as for a trace that begins here,
 * without regard to the parent.
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

/**
 * Runs `work`, and all that it begins, with `span` as the active one; null: with the one that is.
 */
export function inSpan<T>(span: Span | null, work: () => T): T {
  return span instanceof RecordedSpan ? context.with(trace.setSpan(context.active(), span.span), work) : work();
}

/**
 * Runs the work of a batch beneath the spans of its members. Of one member that is traced the work
 * is its own; of several it gets a span of its own, in the trace of the first and linked to all of
 * them. Without any, the work runs outside of every trace: whatever span happened to be active
 * began it for another batch.
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

/** Does `work` inside of `span`, which ends with it, and with its error. */
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

/** The active span: to be given along with a message or a request. */
export function activeTraceparent(): Traceparent | undefined {
  if (tracer === null) return undefined;
  const active = trace.getSpanContext(context.active());
  return active !== undefined && isSampled(active) ? toText(active) : undefined;
}

/**
 * The id of the HTTP request that is being answered, where it is recorded: for the requests that it
 * makes.
 */
export function activeRequestId(): string | undefined {
  if (tracer === null) return undefined;
  const requestId = context.active().getValue(REQUEST_ID);
  return typeof requestId === "string" ? requestId : undefined;
}

/** What a line of the log tells of the work that it belongs to. */
export function logFields(): Record<string, unknown> {
  const active = context.active();
  const span = trace.getSpanContext(active);
  if (span === undefined) return {};
  const requestId = active.getValue(REQUEST_ID);
  return { trace_id: span.traceId, span_id: span.spanId, ...(requestId === undefined ? {} : { requestId }) };
}

/**
 * `text` if it names a span that is recorded, else undefined: for what comes from outside of this
 * process.
 */
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
    // The kind alone: a message may quote what a caller sent. The log has it, under the same trace.
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
 * W3C Trace Context, 3.2: of a version that is not known yet, the parts that are are read. Null: no
 * valid name.
 */
function fromText(text: string): SpanContext | null {
  const [, traceId = "", spanId = "", flags = "00", rest = ""] = TRACEPARENT.exec(text) ?? [];
  if (text.startsWith(FORBIDDEN_VERSION) || (text.startsWith(VERSION) && rest !== "")) return null;
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
  return isSpanContextValid(parsed) ? parsed : null;
}
