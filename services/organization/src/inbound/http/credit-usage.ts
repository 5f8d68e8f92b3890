import { Guid, PageQuery } from "@kapi/contracts";
import { type FastifyInstance, parse } from "@kapi/http";
import { z } from "zod";

import type { UsageLines } from "../../domain/ports.ts";
import { listCreditUsage } from "../../operations/list-credit-usage.ts";

const OrganizationPath = z.object({ organizationId: Guid });

/** The route by which the gateway answers listCreditUsage. */
export function installCreditUsage(app: FastifyInstance, lines: UsageLines): void {
  app.get("/internal/organizations/:organizationId/credits/usage", (request) => {
    const { organizationId } = parse(OrganizationPath, request.params);
    return listCreditUsage(lines, organizationId, parse(PageQuery, request.query));
  });
}
