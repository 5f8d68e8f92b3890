import { ListPositionsQuery } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { readAccountRecords } from "./read-account-records.ts";

/** GET positions of an account: the account service's bytes; with `status=open` it waits until they are fresh (decisions, 4.11). */
export function listAccountPositions(needs: Needs): Operation {
  return readAccountRecords(needs, ListPositionsQuery, needs.accounts.positions);
}
