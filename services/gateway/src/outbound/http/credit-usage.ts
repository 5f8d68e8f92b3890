import { ORGANIZATION_ROUTES } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";

import type { CreditUsage } from "../../domain/ports.ts";
import { foundBodyOf } from "./owner-bytes.ts";

/** The organization service's credit ledger over internal HTTP. */
export function createCreditUsage(client: InternalClient): CreditUsage {
  return {
    list: (organizationId, query) => {
      const asked = { params: { organizationId }, query };
      return foundBodyOf(client, ORGANIZATION_ROUTES.listCreditUsage, asked, { organizationId });
    },
  };
}
