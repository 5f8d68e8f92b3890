import { createNoopMeter, type Meter, metrics } from "@opentelemetry/api";

/** What was measured since. */
export interface Measurements {
  /** What a gauge said last; undefined: nothing. */
  last(name: string): number | undefined;
  /** The sum that was added to a counter with exactly these attributes; 0 if none. */
  total(name: string, attributes?: Readonly<Record<string, string>>): number;
}

/** Stands where the SDK stands in a process that has one, from now on and for the whole process. */
export function measurements(): Measurements {
  const last = new Map<string, number>();
  const totals = new Map<string, number>();
  const keyOf = (name: string, attributes: object = {}): string => `${name} ${JSON.stringify(attributes)}`;
  const meter: Meter = createNoopMeter();
  meter.createGauge = (name) => ({ record: (value) => last.set(name, value) });
  meter.createCounter = (name) => ({
    add: (value, attributes) => {
      const key = keyOf(name, attributes);
      totals.set(key, (totals.get(key) ?? 0) + value);
    },
  });
  metrics.setGlobalMeterProvider({ getMeter: () => meter });
  return {
    last: (name) => last.get(name),
    total: (name, attributes) => totals.get(keyOf(name, attributes)) ?? 0,
  };
}
