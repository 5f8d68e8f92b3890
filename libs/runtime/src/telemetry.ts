/**
 * Loads and starts OpenTelemetry's SDK if the environment asks for traces or metrics. Otherwise
 * the SDK is not loaded, which saves memory and time.
 *
 * Traces: by OpenTelemetry's variables OTEL_EXPORTER_OTLP_ENDPOINT,
 * OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_TRACES_EXPORTER. Further variables, such as
 * OTEL_TRACES_SAMPLER and OTEL_EXPORTER_OTLP_HEADERS, work as in OpenTelemetry's documentation.
 * Metrics: by METRICS=on, as text at /metrics on the HTTP port, or only on METRICS_PORT if that is
 * set.
 */
import { randomUUID } from "node:crypto";

import { diag, type DiagLogger, DiagLogLevel, SamplingDecision, trace } from "@opentelemetry/api";

import { type Environment, variableText } from "./config.ts";
import type { Logger } from "./logger.ts";
import { enableMeasuring } from "./metrics.ts";
import { measureProcess } from "./process-measures.ts";
import { samplingOf } from "./sampling.ts";
import { enableTracing } from "./tracing.ts";

/** Maximum time to send the last spans at the end of the process. Unsent spans are then lost. */
const FLUSH_DEADLINE_MS = 3_000;
const TRACES_ASKED_BY = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER"];
const NO_EXPORTER = "none";
const TRACER = "kapi";
/** The SDK only gets spans that are recorded (`sampling.ts`). */
const EVERY_SPAN = {
  shouldSample: () => ({ decision: SamplingDecision.RECORD_AND_SAMPLED }),
  toString: () => "decided before",
};
/** The default address: only this machine can connect. */
const LOOPBACK = "127.0.0.1";
/** Values of the SDK: the type of an observable gauge, and delta temporality. */
const OBSERVED = "OBSERVABLE_GAUGE";
const DELTA = 0;

/** The requested telemetry. */
export interface TelemetryWish {
  readonly traces: boolean;
  readonly metrics: boolean;
}

/** The address of a separate server for metrics. */
export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

/** The running telemetry of a process. */
export interface Telemetry {
  /** Sets the logger for warnings of the SDK, such as that a collector does not answer. */
  logTo(logger: Logger): void;
  /** Sends the last spans, within a deadline; never rejects. */
  stop(): Promise<void>;
}

let prometheusText: (() => Promise<string>) | null = null;

/** The telemetry that the environment requests; none with OTEL_SDK_DISABLED=true. */
export function telemetryWish(env: Environment): TelemetryWish {
  if (env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return { traces: false, metrics: false };
  const asked = TRACES_ASKED_BY.some((name) => (env[name] ?? "") !== "");
  return {
    traces: asked && env["OTEL_TRACES_EXPORTER"] !== NO_EXPORTER,
    metrics: variableText("METRICS", env) === "on",
  };
}

/**
 * The address from HTTP_HOST and METRICS_PORT. Null without METRICS_PORT; the HTTP server then
 * serves the metrics.
 */
export function metricsAddress(env: Environment): MetricsAddress | null {
  const port = variableText("METRICS_PORT", env);
  return port === "" ? null : { host: variableText("HTTP_HOST", env) || LOOPBACK, port: Number(port) };
}

/**
 * Returns the function with which the HTTP server reads the metrics, in Prometheus' text format.
 * Null if the HTTP server serves no metrics.
 */
export function metricsText(): (() => Promise<string>) | null {
  return prometheusText;
}

/**
 * Loads and starts the requested parts of the SDK. Loads nothing and returns null if no telemetry
 * is requested.
 * @throws the system's error (such as EADDRINUSE) if METRICS_PORT is not available.
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
    // kapi writes the `traceparent` headers itself.
    propagators: [],
    sampler: EVERY_SPAN,
    resourceAttributes: {
      "service.name": env["OTEL_SERVICE_NAME"] || service,
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

/** A reader of metrics, with its own port or for the HTTP server. */
async function createReader(address: MetricsAddress | null) {
  const { PrometheusExporter, PrometheusSerializer } = await import("@opentelemetry/exporter-prometheus");
  type InstrumentType = Parameters<(typeof PrometheusExporter)["prototype"]["selectAggregationTemporality"]>[0];
  class Reader extends PrometheusExporter {
    /**
     * A value is reported only by the collection that observed it. Otherwise the lag of a partition
     * that moved to another process would be reported here forever.
     */
    override selectAggregationTemporality(type: InstrumentType) {
      const name: string = type;
      return name === OBSERVED ? DELTA : super.selectAggregationTemporality(type);
    }

    /** Must be called after the SDK has got the reader: before, the reader has no metrics. */
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
