import { createNoopMeter, type Meter, metrics } from "@opentelemetry/api";
import { afterEach, describe, expect, it } from "vitest";

import { counter, gauge } from "./metrics.ts";

interface Measured {
  readonly name: string;
  readonly value: number;
  readonly attributes: unknown;
}

/** Replaces OpenTelemetry's SDK. */
function record(): Measured[] {
  const measured: Measured[] = [];
  const note = (name: string) => (value: number, attributes?: unknown) => measured.push({ name, value, attributes });
  const meter: Meter = createNoopMeter();
  meter.createCounter = (name) => ({ add: note(name) });
  meter.createGauge = (name) => ({ record: note(name) });
  metrics.setGlobalMeterProvider({ getMeter: () => meter });
  return measured;
}

describe("a measurement", () => {
  afterEach(() => metrics.disable());

  it("is ignored without an SDK, and does not fail", () => {
    expect(() => {
      counter("finance.lonely", "Nobody counts").add(1);
      gauge("finance.alone", "Nobody looks", "{account}").record(1);
    }).not.toThrow();
  });

  it("reaches an SDK that starts after the instrument is declared", () => {
    const differences = gauge("finance.differences", "Accounts that differ", "{account}");
    const failures = counter("finance.failures", "What failed");
    const measured = record();
    differences.record(3, { finding: "differs" });
    failures.add(1);
    failures.add(2, { reason: "late" });
    expect(measured).toEqual([
      { name: "finance.differences", value: 3, attributes: { finding: "differs" } },
      { name: "finance.failures", value: 1, attributes: undefined },
      { name: "finance.failures", value: 2, attributes: { reason: "late" } },
    ]);
  });
});
