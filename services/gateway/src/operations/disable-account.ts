import { RequestBody } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueAccountCommand } from "./queue-account-command.ts";

/** POST disable: queues account.disable. */
export function disableAccount(needs: Needs): Operation {
  return queueAccountCommand(needs, { operation: "account.disable", body: RequestBody });
}
