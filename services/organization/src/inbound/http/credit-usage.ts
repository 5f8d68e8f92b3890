import { ORGANIZATION_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import type { UsageLines } from "../../domain/ports.ts";
import { listCreditUsage } from "../../operations/credits/list-credit-usage.ts";

/** The route by which the gateway answers listCreditUsage. */
export function installCreditUsage(app: FastifyInstance, lines: UsageLines): void {
  serve(app, ORGANIZATION_ROUTES.listCreditUsage, ({ params, query }) =>
    listCreditUsage(lines, params.organizationId, query),
  );
}
