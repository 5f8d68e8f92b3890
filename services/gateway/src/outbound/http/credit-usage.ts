import { type InternalClient, withQuery } from "@kapi/http";

import type { CreditUsage } from "../../domain/ports.ts";
import { foundBytesOf } from "./owner-bytes.ts";

/** The organization service's credit ledger over internal HTTP. */
export function createCreditUsage(client: InternalClient): CreditUsage {
  return {
    list: (organizationId, query) =>
      foundBytesOf(client, withQuery(`/internal/organizations/${organizationId}/credits/usage`, query), {
        organizationId,
      }),
  };
}
