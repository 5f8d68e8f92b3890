import type { Health, HealthReport } from "@kapi/runtime";
import type { FastifyInstance, FastifyReply } from "fastify";

const WELL = 200;
const NOT_WELL = 503;

/**
 * /livez and /readyz for probes: 200, or 503 with the reason of each check that failed. They need
 * no key.
 */
export function installHealthRoutes(app: FastifyInstance, health: Health, probes: "both" | "liveness"): void {
  app.get("/livez", (_request, reply) => answer(reply, health.live()));
  if (probes === "both") app.get("/readyz", (_request, reply) => answer(reply, health.ready()));
}

function answer(reply: FastifyReply, report: HealthReport): FastifyReply {
  reply.header("cache-control", "no-store");
  if (report.ok) return reply.code(WELL).send({ status: "ok" });
  return reply.code(NOT_WELL).send({ status: "not ok", reasons: report.reasons });
}
