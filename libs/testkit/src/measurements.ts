import { createNoopMeter, type Meter, metrics } from "@opentelemetry/api";

/** What was measured since. */
export interface Measurements {
  /** What a gauge said last; undefined: nothing. */
  last(name: string): number | undefined;
}

/** Stands where the SDK stands in a process that has one, from now on and for the whole process. */
export function measurements(): Measurements {
  const last = new Map<string, number>();
  const meter: Meter = createNoopMeter();
  meter.createGauge = (name) => ({ record: (value) => last.set(name, value) });
  metrics.setGlobalMeterProvider({ getMeter: () => meter });
  return { last: (name) => last.get(name) };
}
