import { readFileSync } from "node:fs";

import type { Violations } from "../live/violations.ts";
import type { Cluster } from "./cluster.ts";
import type { Rejection } from "./traffic.ts";

/**
 * Errors that a gateway logs if a service, Redis or Kafka answers too late. An overloaded machine
 * can cause them.
 */
const TOO_LATE = /no answer within \d+ ms|Command timed out|not acknowledged within/;
const GATEWAYS = ["gateway", "gateway-2"];

/**
 * Finds in the logs of the gateways why requests were answered with Retry-After. Every cause except
 * a late answer is a violation. Returns the number of requests with a late answer as the cause.
 */
export function explainRejections(
  { stack }: Cluster,
  rejections: readonly Rejection[],
  violations: Violations,
): number {
  const causes = new Map<string, string>();
  for (const gateway of GATEWAYS) {
    for (const line of readFileSync(stack.process(gateway).logFile, "utf8").split("\n")) {
      if (!line.includes('"requestId"')) continue;
      const { requestId, err } = JSON.parse(line) as { requestId: string; err?: { message?: string } };
      causes.set(requestId, err?.message ?? "no reason was logged");
    }
  }
  const reasons = Map.groupBy(rejections, ({ requestId }) => causes.get(requestId) ?? "nothing was logged");
  let late = 0;
  for (const [reason, refused] of reasons) {
    if (TOO_LATE.test(reason)) late += refused.length;
    else
      violations.add(
        `${refused.length} requests were answered with Retry-After, such as ${refused[0]?.what}: ${reason}`,
      );
  }
  return late;
}
