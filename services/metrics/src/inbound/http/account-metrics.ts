import { AccountNumber, Guid, ListAccountMetricsQuery } from "@kapi/contracts";
import { type FastifyInstance, parse } from "@kapi/http";
import { z } from "zod";

import type { AccountId } from "../../domain/sample.ts";
import { listAccountMetrics } from "../../operations/list-account-metrics.ts";

const ServerPath = z.object({ serverId: Guid });
const AccountPath = z.object({ serverId: Guid, accountNumber: AccountNumber });
const Query = ListAccountMetricsQuery.extend({ organizationId: Guid });

/** The stored snapshots of a server, and the deletion of all that is known of an account. */
export function installAccountMetrics(
  app: FastifyInstance,
  needs: Parameters<typeof listAccountMetrics>[0] & { readonly forget: (account: AccountId) => Promise<void> },
): void {
  app.get("/internal/servers/:serverId/account-metrics", (request) => {
    const { serverId } = parse(ServerPath, request.params);
    return listAccountMetrics(needs, { ...parse(Query, request.query), serverId });
  });
  app.delete("/internal/servers/:serverId/accounts/:accountNumber", async (request) => {
    await needs.forget(parse(AccountPath, request.params));
    return {};
  });
}
