/**
 * What a process measures about itself, through OpenTelemetry's API: without an SDK in the process nothing is kept, and
 * a call costs next to nothing. An instrument is made at its first use, because one that is made before the SDK is
 * there stays deaf for good.
 */
import { type Attributes, metrics } from "@opentelemetry/api";

/** All instruments are found under this name. */
const METER = "kapi";

/** Counts what happened; never goes down. */
export interface Counter {
  add(value: number, attributes?: Readonly<Attributes>): void;
}

/** Tells how much there is of something now. */
export interface Gauge {
  record(value: number, attributes?: Readonly<Attributes>): void;
}

/** A counter named `<service>.<what>`, such as `finance.discrepancies`. */
export function counter(name: string, description: string): Counter {
  let instrument: Counter | null = null;
  return {
    add: (value, attributes) => {
      instrument ??= metrics.getMeter(METER).createCounter(name, { description });
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
