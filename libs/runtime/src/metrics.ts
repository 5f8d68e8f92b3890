/**
 * The metrics of a process, through OpenTelemetry's API. Without the SDK nothing is recorded, and a
 * call costs almost nothing. An instrument that is created before the SDK starts never records
 * anything. So a counter, gauge or histogram is created at its first use, and {@link observed} is
 * called after `startTelemetry`. docs/reference/metrics.md is generated from the calls of these
 * functions, so name, description and unit are always literals.
 */
import { type Attributes, metrics, type ObservableResult } from "@opentelemetry/api";

/** The meter of all instruments. */
const METER = "kapi";

/** Bucket bounds for durations of requests, in seconds, as in the semantic conventions. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Bucket bounds for durations of up to minutes, in seconds. */
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
 * Sets whether the SDK records measurements. `startTelemetry` calls this function before the first
 * measurement.
 */
export function enableMeasuring(on: boolean): void {
  measuring = on;
}

/** Whether metrics are recorded: check it before an expensive measurement. */
export function isMeasuring(): boolean {
  return measuring;
}

/**
 * A counter named `<service or library>.<name>`, such as `finance.discrepancies`; `unit` in UCUM,
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

/** A gauge named as a {@link counter} is; `unit` in UCUM, such as `{account}` or `s`. */
export function gauge(name: string, description: string, unit: string): Gauge {
  let instrument: Gauge | null = null;
  return {
    record: (value, attributes) => {
      instrument ??= metrics.getMeter(METER).createGauge(name, { description, unit });
      instrument.record(value, attributes);
    },
  };
}

/** A distribution of durations in seconds; `scale` selects the bucket bounds. */
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
 * A gauge whose values are read only when metrics are collected. `observe` may reject: then the
 * gauge has no value. If metrics are not recorded, `observe` is never called. Returns a function
 * that removes the gauge.
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
      // The database or the broker is unavailable: report no value.
    }
  };
  instrument.addCallback(callback);
  return () => instrument.removeCallback(callback);
}
