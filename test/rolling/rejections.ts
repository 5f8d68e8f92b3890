import { readFileSync } from "node:fs";

import type { Violations } from "../live/violations.ts";
import type { Cluster } from "./cluster.ts";
import type { Rejection } from "./traffic.ts";

/**
 * On an overloaded machine an answer is too late; no process has rejected the request.
 */
const TOO_LATE = /no answer within \d+ ms|Command timed out|not acknowledged within/;
const GATEWAYS = ["gateway", "gateway-2"];

/**
 * Looks up why requests were answered with Retry-After, in what the gateways have logged. Any other
 * reason than that an answer came too late is a violation. Returns how many were too late.
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
    else violations.add(`${refused.length} times answered with Retry-After, as ${refused[0]?.what}: ${reason}`);
  }
  return late;
}
