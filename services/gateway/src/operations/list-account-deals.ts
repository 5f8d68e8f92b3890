import { PageQuery } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { readAccountRecords } from "./read-account-records.ts";

/** GET deals of an account: the account service's bytes. */
export function listAccountDeals(needs: Needs): Operation {
  return readAccountRecords(needs, PageQuery, needs.accounts.deals);
}
