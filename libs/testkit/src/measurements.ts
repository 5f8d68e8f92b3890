import { createNoopMeter, type Meter, metrics } from "@opentelemetry/api";

/** The measurements of this process since {@link measurements} was called. */
export interface Measurements {
  /** The last value of a gauge, with any attributes; undefined if the gauge has no value. */
  last(name: string): number | undefined;
  /** The sum of a counter with exactly these attributes; 0 without a value. */
  total(name: string, attributes?: Readonly<Record<string, string>>): number;
}

/** Replaces OpenTelemetry's global meter provider, until the process ends. */
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
