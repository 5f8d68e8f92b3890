import { RequestBody } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueAccountCommand } from "./queue-account-command.ts";

/** POST enable: queues account.enable. */
export function enableAccount(needs: Needs): Operation {
  return queueAccountCommand(needs, { operation: "account.enable", body: RequestBody });
}
