import { PageQuery } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { readAccountRecords } from "./read-account-records.ts";

/** GET orders of an account: the account service's bytes. */
export function listTradingAccountOrders(needs: Needs): Operation {
  return readAccountRecords(needs, PageQuery, needs.accounts.orders);
}
