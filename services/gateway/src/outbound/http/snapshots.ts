import { type InternalClient, withQuery } from "@kapi/http";

import type { Snapshots } from "../../domain/ports.ts";
import { foundBytesOf } from "./owner-bytes.ts";

/** The metrics service over internal HTTP. */
export function createSnapshots(client: InternalClient): Snapshots {
  return {
    list: (organizationId, serverId, query) =>
      foundBytesOf(client, withQuery(`/internal/servers/${serverId}/account-metrics`, { organizationId, ...query }), {
        organizationId,
      }),
  };
}
