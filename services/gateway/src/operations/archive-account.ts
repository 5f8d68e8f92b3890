import { RequestBody } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueAccountCommand } from "./queue-account-command.ts";

/** POST archive: queues account.archive. */
export function archiveAccount(needs: Needs): Operation {
  return queueAccountCommand(needs, { operation: "account.archive", body: RequestBody });
}
