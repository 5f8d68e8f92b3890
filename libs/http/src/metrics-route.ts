import { metricsText } from "@kapi/runtime";
import type { FastifyInstance } from "fastify";

const PROMETHEUS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Serves /metrics for Prometheus, without a key, if this process has metrics (METRICS=on) and no
 * separate port for them (METRICS_PORT).
 */
export function installMetricsRoute(app: FastifyInstance): void {
  const text = metricsText();
  if (text === null) return;
  app.get("/metrics", async (_request, reply) =>
    reply
      .header("cache-control", "no-store")
      .type(PROMETHEUS_CONTENT_TYPE)
      .send(await text()),
  );
}
