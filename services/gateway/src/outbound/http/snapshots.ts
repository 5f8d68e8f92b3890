import { METRICS_ROUTES } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";

import type { Snapshots } from "../../domain/ports.ts";
import { foundBodyOf } from "./owner-bytes.ts";

/** The metrics service over internal HTTP. */
export function createSnapshots(client: InternalClient): Snapshots {
  return {
    list: (organizationId, serverId, query) => {
      const asked = { params: { serverId }, query: { organizationId, ...query } };
      return foundBodyOf(client, METRICS_ROUTES.listAccountMetrics, asked, { organizationId });
    },
  };
}
