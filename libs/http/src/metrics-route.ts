import { metricsText } from "@kapi/runtime";
import type { FastifyInstance } from "fastify";

const PROMETHEUS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * /metrics for Prometheus, where this process keeps any (METRICS=on) and has no port of their own
 * for them (METRICS_PORT); like the probes it needs no key.
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
