/**
 * What a process measures about itself, through OpenTelemetry's API: without an SDK in the process
 * nothing is kept, and a call costs next to nothing. An instrument is made at its first use,
 * because one that is made before the SDK is there stays deaf for good. Every metric is listed in
 * docs/reference/metrics.md, which is made of the calls of these functions: a name, a description
 * and a unit are therefore always literals.
 */
import { type Attributes, metrics, type ObservableResult } from "@opentelemetry/api";

/** All instruments are found under this name. */
const METER = "kapi";

/**
 * Bounds of the buckets of a duration of requests, in seconds: those of the semantic conventions.
 */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Bounds for durations of up to minutes, in seconds. */
const COMMAND_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900];

/** Counts events; never decreases. */
export interface Counter {
  add(value: number, attributes?: Readonly<Attributes>): void;
}

/** Records a current value. */
export interface Gauge {
  record(value: number, attributes?: Readonly<Attributes>): void;
}

/** Records the distribution of values. */
export interface Histogram {
  record(value: number, attributes?: Readonly<Attributes>): void;
}

/** One value of {@link observed}. */
export interface Observation {
  readonly value: number;
  readonly attributes?: Readonly<Attributes>;
}

let measuring = false;

/**
 * Sets whether the SDK records measurements. `startTelemetry` calls it once, before the first one.
 */
export function enableMeasuring(on: boolean): void {
  measuring = on;
}

/** Whether metrics are recorded: check it before an expensive measurement. */
export function isMeasuring(): boolean {
  return measuring;
}

/**
 * A counter named `<service>.<what>`, such as `finance.discrepancies`; `unit` as UCUM writes it,
 * such as `{event}`.
 */
export function counter(name: string, description: string, unit?: string): Counter {
  let instrument: Counter | null = null;
  return {
    add: (value, attributes) => {
      instrument ??= metrics
        .getMeter(METER)
        .createCounter(name, { description, ...(unit === undefined ? {} : { unit }) });
      instrument.add(value, attributes);
    },
  };
}

/** A gauge named `<service>.<what>`; `unit` as UCUM writes it, such as `{account}` or `s`. */
export function gauge(name: string, description: string, unit: string): Gauge {
  let instrument: Gauge | null = null;
  return {
    record: (value, attributes) => {
      instrument ??= metrics.getMeter(METER).createGauge(name, { description, unit });
      instrument.record(value, attributes);
    },
  };
}

/**
 * A distribution of durations in seconds; `scale` says whether they are those of requests or may be
 * minutes.
 */
export function histogram(
  name: string,
  description: string,
  unit: "s",
  scale: "requests" | "commands" = "requests",
): Histogram {
  let instrument: Histogram | null = null;
  const explicitBucketBoundaries = scale === "requests" ? REQUEST_SECONDS : COMMAND_SECONDS;
  return {
    record: (value, attributes) => {
      const settings = { description, unit, advice: { explicitBucketBoundaries } };
      instrument ??= metrics.getMeter(METER).createHistogram(name, settings);
      instrument.record(value, attributes);
    },
  };
}

/**
 * A gauge that is asked for its values when somebody looks, and costs nothing otherwise. Returns
 * what ends it. A value that cannot be had now is left out: `observe` may reject. Where nobody ever
 * looks, `observe` is never called.
 */
export function observed(
  name: string,
  description: string,
  unit: string,
  observe: () => Iterable<Observation> | Promise<Iterable<Observation>>,
): () => void {
  if (!measuring) return () => undefined;
  const instrument = metrics.getMeter(METER).createObservableGauge(name, { description, unit });
  const callback = async (result: ObservableResult): Promise<void> => {
    try {
      for (const { value, attributes } of await observe()) result.observe(value, { ...attributes });
    } catch {
      // The database or the broker is unavailable; the value's absence says so.
    }
  };
  instrument.addCallback(callback);
  return () => instrument.removeCallback(callback);
}
