/**
 * Starts OpenTelemetry's SDK where somebody asked for traces or metrics, and only then loads it: a
 * process that nobody looks at pays neither its memory nor the time to load it.
 *
 * Asked for by the environment: traces by OpenTelemetry's own variables
 * (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_TRACES_EXPORTER; OTEL_TRACES_SAMPLER,
 * OTEL_EXPORTER_OTLP_HEADERS and the others work as its documentation says); metrics by METRICS=on,
 * which are then served as text at /metrics: of the process's HTTP port, or, where METRICS_PORT is
 * set, of that port alone.
 */
import { randomUUID } from "node:crypto";

import { diag, type DiagLogger, DiagLogLevel, SamplingDecision, trace } from "@opentelemetry/api";

import type { Environment } from "./config.ts";
import type { Logger } from "./logger.ts";
import { enableMeasuring } from "./metrics.ts";
import { measureProcess } from "./process-measures.ts";
import { samplingOf } from "./sampling.ts";
import { enableTracing } from "./tracing.ts";

/**
 * How long spans may take on their way out at the end of the process, in milliseconds; then they
 * are lost.
 */
const FLUSH_DEADLINE_MS = 3_000;
const TRACES_ASKED_BY = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER"];
const NO_EXPORTER = "none";
const TRACER = "kapi";
/** Only what is to be recorded comes to the SDK (`sampling.ts`). */
const EVERY_SPAN = {
  shouldSample: () => ({ decision: SamplingDecision.RECORD_AND_SAMPLED }),
  toString: () => "decided before",
};
/** The default address: this machine alone. */
const LOOPBACK = "127.0.0.1";
/**
 * The SDK's names of a gauge that is asked for its values, and of "what is new since the last
 * look".
 */
const OBSERVED = "OBSERVABLE_GAUGE";
const DELTA = 0;

/** What was asked for. */
export interface TelemetryWish {
  readonly traces: boolean;
  readonly metrics: boolean;
}

/** Where metrics are served apart from everything else. */
export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

/** What runs until the end of the process. */
export interface Telemetry {
  /** Where what the SDK itself has to say goes, such as that a collector does not answer. */
  logTo(logger: Logger): void;
  /** Sends what is left, within a deadline; never rejects. */
  stop(): Promise<void>;
}

let prometheusText: (() => Promise<string>) | null = null;

/** What the environment asks for. OTEL_SDK_DISABLED=true takes it all back. */
export function telemetryWish(env: Environment): TelemetryWish {
  if (env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return { traces: false, metrics: false };
  const asked = TRACES_ASKED_BY.some((name) => (env[name] ?? "") !== "");
  return { traces: asked && env["OTEL_TRACES_EXPORTER"] !== NO_EXPORTER, metrics: env["METRICS"] === "on" };
}

/**
 * The address that METRICS_PORT names, on the interface of HTTP_HOST; null: metrics are served
 * beside everything else.
 */
export function metricsAddress(env: Environment): MetricsAddress | null {
  const port = env["METRICS_PORT"] ?? "";
  return port === "" ? null : { host: env["HTTP_HOST"] ?? LOOPBACK, port: Number(port) };
}

/**
 * The metrics as Prometheus reads them, to be served by the HTTP server; null where that shall not
 * serve any.
 */
export function metricsText(): (() => Promise<string>) | null {
  return prometheusText;
}

/**
 * Loads and starts the SDK as far as it was asked for; null, and nothing is loaded, where nothing
 * was.
 * @throws the system's error (such as EADDRINUSE) where METRICS_PORT cannot be had.
 */
export async function startTelemetry(service: string, env: Environment): Promise<Telemetry | null> {
  const wish = telemetryWish(env);
  if (!wish.traces && !wish.metrics) return null;
  const [{ startNodeSdk }, reader] = await Promise.all([
    import("@opentelemetry/sdk-node"),
    wish.metrics ? createReader(metricsAddress(env)) : null,
  ]);
  const sdk = startNodeSdk({
    logLevel: "none",
    // The name goes along by hand, in its W3C form alone.
    propagators: [],
    sampler: EVERY_SPAN,
    resourceAttributes: {
      "service.name": env["OTEL_SERVICE_NAME"] ?? service,
      "service.instance.id": randomUUID(),
    },
    resourceDetectors: [],
    metricReaders: reader === null ? [] : [reader],
    logRecordProcessors: [],
    ...(wish.traces ? {} : { spanProcessors: [] }),
  });
  if (wish.traces) enableTracing(trace.getTracer(TRACER), samplingOf(env));
  enableMeasuring(wish.metrics);
  measureProcess();
  await reader?.listen();
  return {
    logTo: (logger) =>
      diag.setLogger(diagnosticsTo(logger), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true }),
    stop: async () => {
      enableTracing(null);
      await Promise.race([sdk.shutdown().catch(() => undefined), late()]);
    },
  };
}

/** A reader of metrics, which has a port of its own or is served by the HTTP server. */
async function createReader(address: MetricsAddress | null) {
  const { PrometheusExporter, PrometheusSerializer } = await import("@opentelemetry/exporter-prometheus");
  type InstrumentType = Parameters<(typeof PrometheusExporter)["prototype"]["selectAggregationTemporality"]>[0];
  class Reader extends PrometheusExporter {
    /**
     * A value is reported only by the collection that observed it: else the lag of a partition that
     * moved would stay here for good.
     */
    override selectAggregationTemporality(type: InstrumentType) {
      const name: string = type;
      return name === OBSERVED ? DELTA : super.selectAggregationTemporality(type);
    }

    /** To be called once the SDK knows the reader: before, there is nothing to tell. */
    async listen(): Promise<void> {
      if (address !== null) await this.startServer();
    }
  }
  const reader = new Reader({ ...address, preventServerStart: true, withoutScopeInfo: true });
  const serializer = new PrometheusSerializer("", false, undefined, false, true);
  if (address === null) {
    prometheusText = async () => serializer.serialize((await reader.collect()).resourceMetrics);
  }
  return reader;
}

function diagnosticsTo(logger: Logger): DiagLogger {
  const warn = (message: string): void => logger.warn({ telemetry: message }, "telemetry");
  return { error: warn, warn, info: () => undefined, debug: () => undefined, verbose: () => undefined };
}

function late(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, FLUSH_DEADLINE_MS).unref();
  });
}
