/**
 * Decides which traces are recorded, before any span is made. A request that is not recorded has no
 * span at all. With a sampler of the SDK, such a request would have a span that is not recorded,
 * and its messages and calls would carry that span.
 */
import { type SpanContext, TraceFlags } from "@opentelemetry/api";

import type { Environment } from "./config.ts";

/** Whether a trace is recorded. `parent`: the caller's span; null for a trace that begins here. */
export type Sampling = (parent: SpanContext | null) => boolean;

/**
 * `traceidratio` records a share of the traces: OTEL_TRACES_SAMPLER_ARG. For a trace of a caller,
 * the share is compared with the last eight hexadecimal digits of the trace id, which are random
 * (W3C Trace Context, level 2). A trace that begins here has no id yet: the share is compared with
 * a random number.
 */
const RANDOM_DIGITS = 8;
const RANDOM_VALUES = 2 ** 32;
const PARENT_BASED = "parentbased_";

/**
 * The sampler of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG, as OpenTelemetry specifies them:
 * always_on, always_off, traceidratio. With the prefix `parentbased_` the caller's decision applies
 * if there is a caller. Any other value means parentbased_always_on, and a malformed share means 1.
 */
export function samplingOf(env: Environment): Sampling {
  const name = env["OTEL_TRACES_SAMPLER"] ?? "";
  const root = rootSampling(name.replace(PARENT_BASED, ""), shareOf(env["OTEL_TRACES_SAMPLER_ARG"]));
  if (root !== null && !name.startsWith(PARENT_BASED)) return root;
  const begun = root ?? always;
  return (parent) => (parent === null ? begun(null) : isSampled(parent));
}

/** Whether the process that made the span records it. */
export function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

function rootSampling(name: string, share: number): Sampling | null {
  switch (name) {
    case "always_on":
      return always;
    case "always_off":
      return () => false;
    case "traceidratio":
      return (parent) => (parent === null ? Math.random() : randomPartOf(parent)) < share;
    default:
      return null;
  }
}

/** From 0 to 1; equal in every process for the same trace. */
function randomPartOf({ traceId }: SpanContext): number {
  return Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) / RANDOM_VALUES;
}

const always: Sampling = () => true;

function shareOf(text: string | undefined): number {
  const share = text === undefined || text === "" ? 1 : Number(text);
  return share >= 0 && share <= 1 ? share : 1;
}
