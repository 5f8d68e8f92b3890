import { type Health, type HealthReport, metricsText } from "@kapi/runtime";
import type { FastifyInstance, FastifyReply } from "fastify";

const WELL = 200;
const NOT_WELL = 503;
const PROMETHEUS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** /livez and /readyz for probes: 200, or 503 with the reason of each check that failed; and /metrics, if this process keeps any. They need no key. */
export function installHealthRoutes(app: FastifyInstance, health: Health): void {
  app.get("/livez", (_request, reply) => answer(reply, health.live()));
  app.get("/readyz", (_request, reply) => answer(reply, health.ready()));
  const text = metricsText();
  if (text === null) return;
  app.get("/metrics", async (_request, reply) =>
    reply
      .header("cache-control", "no-store")
      .type(PROMETHEUS_CONTENT_TYPE)
      .send(await text()),
  );
}

function answer(reply: FastifyReply, report: HealthReport): FastifyReply {
  reply.header("cache-control", "no-store");
  if (report.ok) return reply.code(WELL).send({ status: "ok" });
  return reply.code(NOT_WELL).send({ status: "not ok", reasons: report.reasons });
}
