/**
 * Which traces are recorded, decided before anything is made for one: of a request that is not
 * recorded nothing is made at all. The SDK would make a span of it, count it, and throw it away;
 * and what is done for it would carry that span along.
 */
import { type SpanContext, TraceFlags } from "@opentelemetry/api";

import type { Environment } from "./config.ts";

/** Whether a trace is recorded: one that begins here (null), or goes on with a caller's span. */
export type Sampling = (parent: SpanContext | null) => boolean;

/**
 * A share is compared with the last eight hexadecimal digits of a trace id, which are random (W3C
 * Trace Context, level 2).
 */
const RANDOM_DIGITS = 8;
const RANDOM_VALUES = 2 ** 32;
const PARENT_BASED = "parentbased_";

/**
 * What OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG say, as OpenTelemetry's specification of the
 * environment has it: always_on, always_off, traceidratio, each also after `parentbased_`, where a
 * caller's decision stands. Any other value means parentbased_always_on, and a malformed share
 * means 1.
 */
export function samplingOf(env: Environment): Sampling {
  const name = env["OTEL_TRACES_SAMPLER"] ?? "";
  const root = rootSampling(name.replace(PARENT_BASED, ""), shareOf(env["OTEL_TRACES_SAMPLER_ARG"]));
  if (root !== null && !name.startsWith(PARENT_BASED)) return root;
  const begun = root ?? always;
  return (parent) => (parent === null ? begun(null) : isSampled(parent));
}

/** Whether a span is recorded where it was made. */
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

/** From 0 to 1, the same in every process. */
function randomPartOf({ traceId }: SpanContext): number {
  return Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) / RANDOM_VALUES;
}

const always: Sampling = () => true;

function shareOf(text: string | undefined): number {
  const share = text === undefined || text === "" ? 1 : Number(text);
  return share >= 0 && share <= 1 ? share : 1;
}
