import { METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";
import { toIso } from "@kapi/kernel";

import type { EquityHistories } from "../../domain/equity-history.ts";

/**
 * Far above the time in which metrics reads the minutes of 30 days. Metrics reads minutes where no
 * hours are stored yet: at worst all minutes of the range.
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
