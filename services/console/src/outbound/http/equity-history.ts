import { METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";
import { toIso } from "@kapi/kernel";

import type { EquityHistories } from "../../domain/equity-history.ts";

/**
 * Usually far above the time of the longest read: 30 days. For 30 days, metrics reads the stored
 * hours. Where no hours are stored, metrics reads the stored minutes: at worst all minutes of the
 * 30 days. On a slow disk, such a read can time out (decisions, 9).
 */
const TIMEOUT_MS = 8_000;
const OPTIONS = { repeatable: true, timeoutMs: TIMEOUT_MS };

/** The equity histories of the metrics service. */
export function createEquityHistories(client: InternalClient): EquityHistories {
  return (organizationId, account, { fromMs, toMs, points }) => {
    const query = { organizationId, from: toIso(fromMs), to: toIso(toMs), points: String(points) };
    return callRoute(client, METRICS_ROUTES.readEquityHistory, { params: { ...account }, query }, OPTIONS);
  };
}
