import type { Health, HealthReport } from "@kapi/runtime";
import type { FastifyInstance, FastifyReply } from "fastify";

const OK = 200;
const SERVICE_UNAVAILABLE = 503;

/**
 * Serves /livez, and /readyz unless `probes` is `liveness`. Neither needs a key. The answer is 200,
 * or 503 with the reason of each failed check.
 */
export function registerHealthRoutes(app: FastifyInstance, health: Health, probes: "both" | "liveness"): void {
  app.get("/livez", (_request, reply) => answer(reply, health.live()));
  if (probes === "both") app.get("/readyz", (_request, reply) => answer(reply, health.ready()));
}

function answer(reply: FastifyReply, report: HealthReport): FastifyReply {
  reply.header("cache-control", "no-store");
  if (report.ok) return reply.code(OK).send({ status: "ok" });
  return reply.code(SERVICE_UNAVAILABLE).send({ status: "not ok", reasons: report.reasons });
}
