import { RequestBody } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueAccountCommand } from "./queue-account-command.ts";

/** POST delete: queues account.delete. */
export function queueAccountDeletion(needs: Needs): Operation {
  return queueAccountCommand(needs, { operation: "account.delete", body: RequestBody });
}
