/** Telemetry for a benchmark: all metrics, and a share of all traces. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The recommended share for production (libs/runtime/README.md): one request in a hundred. */
export const SAMPLED_SHARE = "0.01";

/** Environment variables for the services; none without telemetry. `stop` ends the collector. */
export interface BenchTelemetry {
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/**
 * Starts a collector that drops all spans. `share` is the traced share of requests; null turns
 * telemetry off.
 */
export async function benchTelemetry(share: string | null): Promise<BenchTelemetry> {
  if (share === null) return { environment: {}, stop: () => Promise.resolve() };
  const collector = createServer((request, response) => {
    request.resume();
    request.once("end", () => response.end());
  });
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  const { port } = collector.address() as AddressInfo;
  console.log(`    telemetry is on: metrics, and ${share} of all traces`);
  return {
    environment: {
      METRICS: "on",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: share,
    },
    stop: async () => {
      collector.close();
      collector.closeAllConnections();
      await once(collector, "close");
    },
  };
}
